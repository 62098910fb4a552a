
ini_set('memory_limit', '1G');
foreach (json_decode(stream_get_contents(STDIN), true) as $case) {
    $server = [];
    foreach ($case['headers'] as [$name, $value]) {
        $key = 'HTTP_' . strtoupper(strtr($name, '-', '_'));
        $server[$key] = isset($server[$key]) ? $server[$key] . ', ' . $value : $value;
    }
    try {
        $payload = verify($case['secret'], $case['path'], $server, base64_decode($case['body']), $case['now']);
        echo $case['name'], "\t", hash('sha256', $payload), "\n";
    } catch (Exception $refused) {
        echo $case['name'], "\trefused\n";
    }
}
