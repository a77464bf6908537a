{{/* The peers of network policies. */}}

{{- define "gateway.admittedClients" -}}
- ports: [{protocol: TCP, port: http}]
  {{- with .Values.networkPolicy.clients }}
  from:
    {{- toYaml . | nindent 4 }}
    {{- if $.Values.test.enabled }}
    - podSelector:
        matchLabels:
          {{- include "gateway.selector" (list $ "test") | nindent 10 }}
    {{- end }}
  {{- end }}
{{- end }}

{{- define "gateway.admittedToMetrics" -}}
- ports: [{protocol: TCP, port: admin}]
  from:
  {{- if .Values.networkPolicy.metrics }}
  {{- toYaml .Values.networkPolicy.metrics | nindent 2 }}
  {{- if .Values.test.enabled }}
  - podSelector:
      matchLabels:
        {{- include "gateway.selector" (list . "test") | nindent 8 }}
  {{- end }}
  {{- else }}
  - podSelector: {}
  {{- end }}
{{- end }}

{{- define "gateway.egressToDns" -}}
- ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
{{- end }}

{{- define "gateway.egressToLedger" -}}
- ports:
  {{- include "gateway.ledgerPorts" . | trim | nindent 2 }}
  {{- if eq .Values.ledger.type "Bundled" }}
  to:
  - podSelector:
      matchLabels:
        {{- include "gateway.selector" (list . "valkey") | nindent 8 }}
  {{- end }}
{{- end }}

{{- define "gateway.egressToApiServer" -}}
- ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
  {{- with .Values.networkPolicy.apiServer }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
