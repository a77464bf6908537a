{{/* Certificates from cert-manager, and the Secrets of certificates. A Secret that a value names is never cert-manager's. */}}

{{/* The Secret of the Envoys' certificate; empty without TLS. */}}
{{- define "gateway.edgeTlsSecretName" -}}
{{- if .Values.edge.tlsSecretName }}{{ .Values.edge.tlsSecretName }}
{{- else if and .Values.certManager.enabled .Values.certManager.edge.enabled }}{{ include "gateway.certificateName" (list . "edge") }}
{{- end }}
{{- end }}

{{/* The Secret of the console's certificate; empty without TLS. */}}
{{- define "gateway.consoleTlsSecretName" -}}
{{- if .Values.console.tlsSecretName }}{{ .Values.console.tlsSecretName }}
{{- else if and .Values.certManager.enabled .Values.certManager.console.enabled }}{{ include "gateway.certificateName" (list . "console") }}
{{- end }}
{{- end }}

{{/* The name of a component's Certificate and of its Secret: (list $ "edge"). */}}
{{- define "gateway.certificateName" -}}
{{ include "gateway.component" . }}-certificate
{{- end }}

{{/* A component's Certificate: (list $ "edge" names), the latter as YAML. */}}
{{- define "gateway.certificate" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 }}
{{- $settings := index $root.Values.certManager $component }}
{{- $issuer := merge (deepCopy $settings.issuerRef) $root.Values.certManager.issuerRef }}
{{- $name := include "gateway.certificateName" (list $root $component) -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  {{- include "gateway.metadata" (dict "root" $root "component" $component "name" $name) | nindent 2 }}
spec:
  secretName: {{ $name }}
  issuerRef:
    name: {{ required (printf "certManager.issuerRef.name or certManager.%s.issuerRef.name must name an issuer" $component) $issuer.name | quote }}
    kind: {{ $issuer.kind }}
    group: {{ $issuer.group }}
  {{- index . 2 | trim | nindent 2 }}
  {{- with $settings.duration }}
  duration: {{ . }}
  {{- end }}
  usages: [digital signature, key encipherment, server auth]
{{- end }}
