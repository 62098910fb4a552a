
require 'json'
require 'digest'

JSON.parse($stdin.read).each do |c|
  env = {}
  c['headers'].each do |name, value|
    key = "HTTP_#{name.upcase.tr('-', '_')}"
    env[key] = env[key] ? "#{env[key]},#{value}" : value
  end
  verdict =
    begin
      Digest::SHA256.hexdigest(verify(c['secret'], c['path'], env, c['body'].unpack1('m0'), Time.at(c['now'])))
    rescue StandardError
      'refused'
    end
  puts "#{c['name']}\t#{verdict}"
end
