{{/* What the operator's webhook adds to pods (--sidecar-settings), as YAML. */}}
{{- define "gateway.sidecarSettings" -}}
{{- $sidecar := .Values.sidecar -}}
image: {{ include "gateway.image" (list .Values.image .Chart.AppVersion) }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
fleet: https://{{ include "gateway.name" . }}-tls.{{ .Release.Namespace }}.svc
logLevel: {{ quote $sidecar.logLevel }}
ipv6: {{ .Values.ipv6 }}
resources:
  {{- toYaml $sidecar.resources | nindent 2 }}
securityContext:
  {{- toYaml $sidecar.securityContext | nindent 2 }}
env:
  {{- toYaml $sidecar.env | nindent 2 }}
{{- end }}
