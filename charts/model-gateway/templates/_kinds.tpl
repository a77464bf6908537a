{{- /* Generated from crds/ by npm run generate. */}}

{{- define "gateway.kinds" -}}
accounts, apikeys, groups, modelroutes, pricecatalogs
{{- end }}

{{- define "gateway.kindStatuses" -}}
accounts/status, apikeys/status, groups/status, modelroutes/status, pricecatalogs/status
{{- end }}
