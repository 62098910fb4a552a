for (const c of JSON.parse(require('node:fs').readFileSync(0))) {
  const headers = {}
  for (const [name, value] of c.headers) (headers[name.toLowerCase()] ??= []).push(value)
  let verdict = 'refused'
  try {
    const payload = verify(c.secret, c.path, headers, Buffer.from(c.body, 'base64'), new Date(c.now * 1000))
    verdict = crypto.createHash('sha256').update(payload).digest('hex')
  } catch {}
  console.log(c.name + '\t' + verdict)
}
