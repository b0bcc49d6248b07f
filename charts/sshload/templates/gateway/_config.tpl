{{- /*
What the gateway is told: the values of gateway.config, and what the chart decides. In JSON, which is YAML in which no
text looks like a date.
*/ -}}
{{- define "sshload.gatewayConfig" -}}
{{- $gateway := .Values.gateway -}}
{{- $tokens := ternary (dict "jwksFile" "/etc/sshload-gateway-jwks/jwks.json") dict (ne $gateway.jwksSecret "") -}}
{{- $database := ternary (dict "urlFile" "/etc/sshload-gateway-database/url")
  (dict "url" "sqlite:////var/lib/sshload-gateway/credentials.db") (ne $gateway.database.secret "") -}}
{{- $own := dict
  "listen" (dict "host" $gateway.address "port" 8080)
  "management" (dict "host" $gateway.address "port" 9100)
  "database" $database
  "tokens" $tokens
  "sealingKeys" (dict "folder" "/etc/sshload-gateway-sealing-keys" "active" $gateway.sealingKeys.active) -}}
{{- toPrettyJson (mergeOverwrite (deepCopy $gateway.config) $own) -}}
{{- end -}}

{{- /* Until when a pod that is to end is killed: its requests may take shutdownS, and what remains is ended after that. */ -}}
{{- define "sshload.gatewayGraceSeconds" -}}
{{- .Values.gateway.config.shutdownS | default 25 | ceil | int64 | add 15 -}}
{{- end -}}
