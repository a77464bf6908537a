{{/* Names, labels and images. A namespace has one gateway, so names do not include the release's. */}}

{{- define "gateway.name" -}}
{{- .Values.fullnameOverride | default .Values.nameOverride | default "model-gateway" | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* The name of a component's objects: (list $ "operator"). The proxies' objects have the gateway's own name. */}}
{{- define "gateway.component" -}}
{{- $name := include "gateway.name" (index . 0) -}}
{{- if eq (index . 1) "dataplane" }}{{ $name }}{{ else }}{{ printf "%s-%s" $name (index . 1) }}{{ end -}}
{{- end }}

{{/* The name of a cluster-wide object, unique among several gateways of a cluster. */}}
{{- define "gateway.clusterName" -}}
{{- printf "%s.%s" (index . 1) (index . 0).Release.Namespace -}}
{{- end }}

{{/* The selector labels of a component's pods, which never change. */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Values.nameOverride | default "model-gateway" }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "gateway.labels" -}}
{{- $root := index . 0 -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of pods, without the chart's version: a new chart restarts only the pods whose settings it changes. */}}
{{- define "gateway.podLabels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/part-of: model-gateway
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: (dict "root" $ "component" … "name" … "labels" … "annotations" … "clusterWide" …). */}}
{{- define "gateway.metadata" -}}
name: {{ .name | default (include "gateway.component" (list .root .component)) }}
{{- if not .clusterWide }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  {{- mergeOverwrite (include "gateway.labels" (list .root .component) | fromYaml) (.labels | default dict) | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The reference of an image: (list image default-tag). */}}
{{- define "gateway.image" -}}
{{- $image := index . 0 -}}
{{- $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 1) }}{{ end -}}
{{- end }}

{{- define "gateway.operatorAddress" -}}
{{ include "gateway.component" (list . "operator") }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The headless Service of the proxies. */}}
{{- define "gateway.fleetName" -}}
{{ include "gateway.name" . }}-fleet
{{- end }}

{{/* The component behind the Service with the gateway's name. */}}
{{- define "gateway.front" -}}
{{ .Values.edge.enabled | ternary "edge" "dataplane" }}
{{- end }}

{{/* The names of the sidecars' webhook, and of its cluster-wide objects. */}}
{{- define "gateway.webhookName" -}}
{{ include "gateway.name" . }}-webhook
{{- end }}

{{- define "gateway.sidecarName" -}}
{{ include "gateway.clusterName" (list . (printf "%s-sidecar" (include "gateway.name" .))) }}
{{- end }}

{{/* The folders of certificates. */}}
{{- define "gateway.consoleTlsFolder" -}}/var/run/secrets/modelgateway.dev/console-tls{{- end }}

{{- define "gateway.edgeTlsFolder" -}}/etc/envoy-tls{{- end }}
