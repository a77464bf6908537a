{{/* How the operator and the proxies connect to the ledger. */}}

{{- define "gateway.valkeySecretName" -}}
{{ .Values.valkey.auth.existingSecretName | default (printf "%s-password" (include "gateway.component" (list . "valkey"))) }}
{{- end }}

{{- define "gateway.valkeyTlsSecretName" -}}
{{- if .Values.valkey.tls.existingSecretName }}{{ .Values.valkey.tls.existingSecretName }}
{{- else if include "gateway.valkeyHasCertificate" . }}{{ include "gateway.certificateName" (list . "valkey") }}
{{- else }}{{ include "gateway.component" (list . "valkey") }}-tls
{{- end }}
{{- end }}

{{/* Whether cert-manager issues Valkey's certificate, if it uses TLS: "true" or empty. */}}
{{- define "gateway.valkeyHasCertificate" -}}
{{- if and .Values.certManager.enabled .Values.certManager.valkey.enabled (not .Values.valkey.tls.existingSecretName) }}true{{ end }}
{{- end }}

{{- define "gateway.valkeyTlsFolder" -}}/var/run/secrets/modelgateway.dev/valkey-tls{{- end }}

{{/* Whether the bundled Valkey uses TLS: "true" or empty. Auto must not change a running Valkey, nor create a new certificate
at each rendering: where GitOps tools render the chart without a cluster, the lookup has no items. */}}
{{- define "gateway.valkeyTls" -}}
{{- $tls := .Values.valkey.tls }}
{{- if ne .Values.ledger.type "Bundled" }}
{{- else if ne (toString $tls.enabled) "Auto" }}{{ if $tls.enabled }}true{{ end }}
{{- else if or $tls.existingSecretName (include "gateway.valkeyHasCertificate" .) }}true
{{- else }}
{{- $sets := lookup "apps/v1" "StatefulSet" .Release.Namespace "" }}
{{- $encrypted := hasKey $sets "items" }}
{{- $name := include "gateway.component" (list . "valkey") }}
{{- range $sets.items }}
{{- if eq .metadata.name $name }}{{ $encrypted = toJson .spec.template.spec.containers | contains "--tls-port" }}{{ end }}
{{- end }}
{{- if $encrypted }}true{{ end }}
{{- end }}
{{- end }}

{{- define "gateway.ledgerFolder" -}}/var/run/secrets/modelgateway.dev/ledger{{- end }}

{{/* The environment variable of the ledger's URL. It contains the password only if the user's own Secret has the whole URL.
The program's default timeout is left out, since an external URL may set the parameter itself. */}}
{{- define "gateway.ledgerEnv" -}}
{{- $external := .Values.ledger.external -}}
- name: MGW_LEDGER
{{- if eq .Values.ledger.type "Bundled" }}
  value: {{ include "gateway.bundledLedgerUrl" . }}
{{- else if $external.urlSecretName }}
  valueFrom:
    secretKeyRef: {name: {{ $external.urlSecretName }}, key: {{ $external.urlSecretKey }}}
{{- else }}
  value: {{ include "gateway.externalLedgerUrl" . }}
{{- end }}
{{- end }}

{{- define "gateway.bundledLedgerUrl" -}}
{{- $folder := include "gateway.ledgerFolder" . }}
{{- $tls := include "gateway.valkeyTls" . -}}
valkey{{ if $tls }}s{{ end }}://{{ include "gateway.component" (list . "valkey") }}.{{ .Release.Namespace }}.svc:6379/0?password-file={{ $folder }}/password
{{- if $tls }}&ca-file={{ $folder }}/ca.crt{{ end }}
{{- if ne (int .Values.ledger.timeoutMs) 200 }}&timeout-ms={{ int .Values.ledger.timeoutMs }}{{ end }}
{{- end }}

{{- define "gateway.externalLedgerUrl" -}}
{{- $external := .Values.ledger.external }}
{{- $folder := include "gateway.ledgerFolder" . }}
{{- $url := required "ledger.external.url or ledger.external.urlSecretName must say where the ledger is (ledger.type is External)" $external.url }}
{{- $parameters := "" }}
{{- if ne (int .Values.ledger.timeoutMs) 200 }}{{ $parameters = printf "&timeout-ms=%d" (int .Values.ledger.timeoutMs) }}{{ end }}
{{- if $external.passwordSecretName }}{{ $parameters = printf "%s&password-file=%s/password" $parameters $folder }}{{ end }}
{{- if $external.caSecretName }}{{ $parameters = printf "%s&ca-file=%s/ca.crt" $parameters $folder }}{{ end }}
{{- $url }}{{ if $parameters }}{{ contains "?" $url | ternary "&" "?" }}{{ trimPrefix "&" $parameters }}{{ end }}
{{- end }}

{{/* The volume with the password and the CA certificate; empty where there is neither. */}}
{{- define "gateway.ledgerVolume" -}}
{{- $external := .Values.ledger.external -}}
{{- if eq .Values.ledger.type "Bundled" }}
- name: ledger
  projected:
    sources:
    - secret: {name: {{ include "gateway.valkeySecretName" . }}, items: [{key: {{ .Values.valkey.auth.existingSecretKey }}, path: password}]}
    {{- if include "gateway.valkeyTls" . }}
    - secret: {name: {{ include "gateway.valkeyTlsSecretName" . }}, items: [{key: ca.crt, path: ca.crt}]}
    {{- end }}
{{- else if and (not $external.urlSecretName) (or $external.passwordSecretName $external.caSecretName) }}
- name: ledger
  projected:
    sources:
    {{- if $external.passwordSecretName }}
    - secret: {name: {{ $external.passwordSecretName }}, items: [{key: {{ $external.passwordSecretKey }}, path: password}]}
    {{- end }}
    {{- if $external.caSecretName }}
    - secret: {name: {{ $external.caSecretName }}, items: [{key: {{ $external.caSecretKey }}, path: ca.crt}]}
    {{- end }}
{{- end }}
{{- end }}

{{- define "gateway.ledgerPorts" -}}
{{- range eq .Values.ledger.type "Bundled" | ternary (list 6379) .Values.ledger.external.ports }}
- {protocol: TCP, port: {{ . }}}
{{- end }}
{{- end }}

{{/* The bytes that Valkey's data may use: valkey.maxMemory, or three quarters of the container's limit. Beyond it, Valkey
refuses writes, and calls get 503, instead of being killed. The remaining quarter is for rewriting its file. */}}
{{- define "gateway.valkeyMaxMemory" -}}
{{- $limit := dig "limits" "memory" "" .resources | toString -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if .maxMemory }}{{ .maxMemory }}
{{- else if $limit }}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?([eE][+]?[0-9]+)?" $limit }}
{{- $unit := trimPrefix $number $limit }}
{{- if or (not $number) (not (hasKey $units $unit)) }}
{{- fail (printf "valkey.resources.limits.memory: maxmemory cannot be derived from %q; set valkey.maxMemory" $limit) }}
{{- end }}
{{- mulf (float64 $number) (index $units $unit) 0.75 | int64 }}
{{- end -}}
{{- end }}
