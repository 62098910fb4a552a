{{- define "passerelle.labels" -}}
{{ include "passerelle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "passerelle.selector" -}}
app.kubernetes.io/name: passerelle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* A name has at most 63 characters, and "-metrics" or "-migrate" may follow. */ -}}
{{- define "passerelle.name" -}}
{{- $name := .Release.Name }}
{{- if not (contains "passerelle" $name) }}{{ $name = printf "%s-passerelle" (trunc 44 $name | trimSuffix "-") }}{{ end }}
{{- trunc 55 $name | trimSuffix "-" }}
{{- end }}

{{- /* A setting as a text. Helm reads numbers as floating point, and would write 1e+06. */ -}}
{{- define "passerelle.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "passerelle.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The rights of a pod. They satisfy the profile restricted of Kubernetes. */ -}}
{{- define "passerelle.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "passerelle.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* The time for running requests: the grace period without the delay and the 5 seconds for the process. */ -}}
{{- define "passerelle.shutdownTimeout" -}}
{{- $seconds := sub (sub (int .Values.terminationGracePeriodSeconds) (int .Values.shutdownDelaySeconds)) 5 }}
{{- if le $seconds 10 }}{{ fail "terminationGracePeriodSeconds must be larger than shutdownDelaySeconds by at least 16" }}{{ end }}
{{- printf "%ds" $seconds }}
{{- end }}

{{- /* GOMEMLIMIT in bytes: a percentage of the memory limit. It is empty below 128 MiB, and if settings has another GOMEMLIMIT. */ -}}
{{- define "passerelle.goMemoryLimit" -}}
{{- $limit := include "passerelle.text" (dig "limits" "memory" "" (default dict .Values.resources)) }}
{{- if and $limit .Values.goMemoryPercent (not (hasKey .Values.settings "GOMEMLIMIT")) }}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $limit }}
{{- $unit := trimPrefix $number $limit }}
{{- if or (not $number) (not (hasKey $units $unit)) }}{{ fail (printf "resources.limits.memory: %s has no unit such as Mi or Gi" $limit) }}{{ end }}
{{- $bytes := mulf $number (get $units $unit) .Values.goMemoryPercent 0.01 }}
{{- if ge $bytes 134217728.0 }}{{ printf "%.0f" $bytes }}{{ end }}
{{- end }}
{{- end }}
