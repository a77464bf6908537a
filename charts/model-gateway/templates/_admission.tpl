{{/* What the ValidatingAdmissionPolicies say, one template for each. */}}

{{- define "gateway.admissionPolicies" -}}
[accounts, plaintext, deletion, groupdeletion, platformdeletion, drained, secrets, sizes, secretsizes{{ if .Values.admission.groupAssignment }}, groups{{ end }}]
{{- end }}

{{- /* Only the platform team grants credit: a Role in a tenant's namespace gives no right in the gateway's. The garbage
collector and the namespace controller can delete everywhere. */}}
{{- define "gateway.admission.accounts" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [accounts], operations: [CREATE, UPDATE, DELETE]}
matchConditions:
- name: of-this-gateway
  expression: >-
    (object != null && object.spec.gatewayNamespace == {{ .Release.Namespace | quote }}) || (oldObject != null && oldObject.spec.gatewayNamespace == {{ .Release.Namespace | quote }})
- name: credit-changes
  expression: request.operation != "UPDATE" || object.spec != oldObject.spec
validations:
- expression: >-
    authorizer.group("modelgateway.dev").resource("accounts").namespace({{ .Release.Namespace | quote }}).check(request.operation.lowerAscii()).allowed()
  reason: Forbidden
  message: >-
    Accounts are the platform team's: whoever writes one needs the same right on accounts.modelgateway.dev in the namespace {{ .Release.Namespace }}.
    Ask the platform team for credit.
{{- end }}

{{- /* A key or credential in an object is visible to everybody who can read it; kubectl apply keeps a copy in an annotation. */}}
{{- define "gateway.admission.plaintext" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [{{ include "gateway.kinds" . }}], operations: [CREATE, UPDATE]}
matchConditions:
- name: of-this-gateway
  expression: >-
    object.metadata.namespace == {{ .Release.Namespace | quote }} || (has(object.spec.gatewayNamespace) && object.spec.gatewayNamespace == {{ .Release.Namespace | quote }})
variables:
{{- /* The prefixes of this gateway's keys and of other vendors', and JSON Web Tokens. */}}
- name: key
  expression: >-
    "(^|[^0-9A-Za-z_-])(sk-[0-9A-Za-z_-]{28,}|(rk|pk|gsk|xai|r8|hf|pplx|fw|nvapi|glpat|ghp|gho|github_pat)[-_][0-9A-Za-z_]{20,}|AIza[0-9A-Za-z_-]{30,}|AKIA[0-9A-Z]{16}|ya29[.][0-9A-Za-z_-]{20,}|eyJ[0-9A-Za-z_-]{10,}[.]eyJ)"
- name: texts
  expression: >-
    (has(object.metadata.annotations) ? object.metadata.annotations.map(name, object.metadata.annotations[name]) : []) +
    (has(object.spec.grants) ? object.spec.grants.filter(grant, has(grant.reason)).map(grant, grant.reason) : []) +
    (has(object.spec.displayName) ? [object.spec.displayName] : [])
{{- /* Random text mixes cases and digits; checksums and commits, which are hexadecimal, do not. */}}
- name: random
  expression: >-
    variables.texts.exists(text, text.findAll("[0-9A-Za-z]{40,}").exists(word, word.matches("[0-9]") && word.matches("[a-z]") && word.matches("[A-Z]")))
validations:
- expression: >-
    !has(object.metadata.annotations) || object.metadata.annotations.all(name, !object.metadata.annotations[name].matches(variables.key))
  messageExpression: >-
    "the annotation " + object.metadata.annotations.filter(name, object.metadata.annotations[name].matches(variables.key))[0] + " holds what looks like a key in plain text. Keys belong into Secrets, which spec.key.secretRef or auth.secretRef name; take this one out of use, since it has been shown."
- expression: >-
    !has(object.spec.grants) || object.spec.grants.all(grant, !has(grant.reason) || !grant.reason.matches(variables.key))
  message: spec.grants holds what looks like a key in plain text. Keys belong into Secrets; take this one out of use, since it has been shown.
- expression: >-
    !has(object.spec.displayName) || !object.spec.displayName.matches(variables.key)
  message: spec.displayName holds what looks like a key in plain text, and would be shown to everybody.
- expression: "!variables.random"
  message: An annotation, spec.grants or spec.displayName holds a long random text, which looks like a key in plain text. Keys belong into Secrets; take this one out of use, since it has been shown.
- expression: >-
    !has(object.spec.channels) || object.spec.channels.all(channel, !channel.baseUrl.matches(variables.key) && !channel.baseUrl.matches("://[^/]*@"))
  message: spec.channels has a baseUrl with a credential in it. Put it into a Secret, which auth.secretRef names.
{{- end }}

{{- /* A Group determines prices and access: giving it to a key requires the verb assign on it. */}}
{{- define "gateway.admission.groups" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [apikeys], operations: [CREATE, UPDATE]}
matchConditions:
- name: of-this-gateway
  expression: object.spec.gatewayNamespace == {{ .Release.Namespace | quote }}
- name: group-changes
  expression: oldObject == null || object.spec.groupRef != oldObject.spec.groupRef
validations:
- expression: >-
    authorizer.group("modelgateway.dev").resource("groups").namespace({{ .Release.Namespace | quote }}).name(object.spec.groupRef.name).check("assign").allowed()
  reason: Forbidden
  messageExpression: >-
    "you may not give the Group \"" + object.spec.groupRef.name + "\" to a key: that needs the verb assign on groups.modelgateway.dev \"" + object.spec.groupRef.name + "\" in the namespace {{ .Release.Namespace }}. Choose a group that you may assign, or ask the platform team."
{{- end }}

{{- /* Without their Account, keys are refused every call, and a new Account of that name has the old one's spending. The API
server evaluates this for each ApiKey of the namespace, from a watch that may not have a key of the same moment yet. */}}
{{- define "gateway.admission.deletion" -}}
paramKind: {apiVersion: modelgateway.dev/v1alpha1, kind: ApiKey}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [accounts], operations: [DELETE]}
matchConditions:
- name: of-this-gateway
  expression: oldObject.spec.gatewayNamespace == {{ .Release.Namespace | quote }}
- name: not-allowed-by-annotation
  expression: >-
    !has(oldObject.metadata.annotations) || !("modelgateway.dev/allow-deletion" in oldObject.metadata.annotations) || oldObject.metadata.annotations["modelgateway.dev/allow-deletion"] != "true"
validations:
- expression: >-
    has(namespaceObject.metadata.deletionTimestamp) || has(params.metadata.deletionTimestamp) || params.spec.accountRef.name != oldObject.metadata.name || params.spec.gatewayNamespace != oldObject.spec.gatewayNamespace
  reason: Forbidden
  messageExpression: >-
    "the Account " + oldObject.metadata.name + " pays for the ApiKey " + params.metadata.name + ", whose calls would all be refused without it, and perhaps for others. Delete its ApiKeys first, or allow this with: kubectl annotate account " + oldObject.metadata.name + " --namespace " + oldObject.metadata.namespace + " modelgateway.dev/allow-deletion=true"
{{- end }}

{{- /* The operator counts the keys that use an object in its status. */}}
{{- define "gateway.admission.deletionconditions" -}}
matchConditions:
- name: of-this-gateway
  expression: oldObject.metadata.namespace == {{ .Release.Namespace | quote }}
- name: not-allowed-by-annotation
  expression: >-
    !has(oldObject.metadata.annotations) || !("modelgateway.dev/allow-deletion" in oldObject.metadata.annotations) || oldObject.metadata.annotations["modelgateway.dev/allow-deletion"] != "true"
{{- end }}

{{- define "gateway.admission.groupdeletion" -}}
paramKind: {apiVersion: modelgateway.dev/v1alpha1, kind: Group}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [groups], operations: [DELETE]}
{{ include "gateway.admission.deletionconditions" . }}
variables:
- name: allow
  expression: >-
    "or allow this with: kubectl annotate group " + oldObject.metadata.name + " --namespace " + oldObject.metadata.namespace + " modelgateway.dev/allow-deletion=true"
validations:
- expression: >-
    has(namespaceObject.metadata.deletionTimestamp) || !has(oldObject.status) || !has(oldObject.status.keys) || oldObject.status.keys == 0
  reason: Forbidden
  messageExpression: >-
    string(oldObject.status.keys) + " ApiKeys use the Group " + oldObject.metadata.name + ", and their calls would all be refused without it. Give them another group first, " + variables.allow
- expression: >-
    has(namespaceObject.metadata.deletionTimestamp) || has(params.metadata.deletionTimestamp) || !has(params.spec.members) || !params.spec.members.exists(member, member.name == oldObject.metadata.name)
  reason: Forbidden
  messageExpression: >-
    "the Group " + oldObject.metadata.name + " is a member of the Group " + params.metadata.name + ". Take it out of spec.members there first, " + variables.allow
{{- end }}

{{- define "gateway.admission.platformdeletion" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [modelroutes, pricecatalogs], operations: [DELETE]}
{{ include "gateway.admission.deletionconditions" . }}
validations:
- expression: >-
    has(namespaceObject.metadata.deletionTimestamp) || !has(oldObject.status) || !has(oldObject.status.keys) || oldObject.status.keys == 0
  reason: Forbidden
  messageExpression: >-
    string(oldObject.status.keys) + " ApiKeys would lose a model without the " + oldObject.kind + " " + oldObject.metadata.name + ". Create its successor first, or allow this with: kubectl annotate " + oldObject.kind.lowerAscii() + " " + oldObject.metadata.name + " --namespace " + oldObject.metadata.namespace + " modelgateway.dev/allow-deletion=true"
{{- end }}

{{- define "gateway.admission.drained" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [modelroutes], operations: [CREATE, UPDATE]}
matchConditions:
- name: of-this-gateway
  expression: object.metadata.namespace == {{ .Release.Namespace | quote }}
validations:
- expression: >-
    !has(object.spec.drainedChannels) || object.spec.channels.exists(channel, !(channel.name in object.spec.drainedChannels))
  message: spec.drainedChannels names every channel, so calls get 503 with retry-after unless another ModelRoute serves the models.
{{- end }}

{{- /* RBAC cannot select Secrets by label; this policy does. It lets the operator change and delete only the Secrets of
ApiKeys, and change the few of its own. */}}
{{- define "gateway.admission.secrets" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [UPDATE, DELETE]}
matchConditions:
- name: by-the-operator
  expression: >-
    request.userInfo.username == "system:serviceaccount:{{ .Release.Namespace }}:{{ include "gateway.serviceAccountName" (list . "operator") }}"
- name: not-its-own
  expression: >-
    request.operation == "DELETE" || request.namespace != {{ .Release.Namespace | quote }} || !(request.name in ["model-gateway-xds-tls", "model-gateway-webhook-tls", "model-gateway-fleet-tls", "model-gateway-console", "model-gateway-console-memory"])
validations:
- expression: >-
    (has(oldObject.metadata.labels) && "modelgateway.dev/api-key" in oldObject.metadata.labels) || (has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(owner, owner.kind == "ApiKey" && owner.apiVersion.startsWith("modelgateway.dev/")))
  reason: Forbidden
  message: the operator may change and delete Secrets of ApiKeys only, which have the label modelgateway.dev/api-key.
{{- end }}

{{- /* Tenants write ApiKeys, and every operator's watch carries each again with every write of its status. So this bounds the ApiKeys
of all gateways. */}}
{{- define "gateway.admission.sizes" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [modelgateway.dev], apiVersions: ["*"], resources: [apikeys], operations: [CREATE, UPDATE]}
matchConditions:
- name: stays
  expression: "!has(object.metadata.deletionTimestamp)"
validations:
- expression: >-
    !has(object.metadata.annotations) || object.metadata.annotations.map(name, name.size() + object.metadata.annotations[name].size()).sum() <= 32768
  message: metadata.annotations of an ApiKey may have 32768 characters in all. Keep larger notes elsewhere.
- expression: "!has(object.metadata.labels) || object.metadata.labels.size() <= 64"
  message: metadata.labels of an ApiKey may have 64 entries.
{{- end }}

{{- /* Only Secrets with the label of an ApiKey's Secret are looked at. */}}
{{- define "gateway.admission.secretsizes" -}}
matchConstraints:
  objectSelector:
    matchExpressions:
    - {key: modelgateway.dev/api-key, operator: Exists}
  resourceRules:
  - {apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE, UPDATE]}
matchConditions:
- name: stays
  expression: "!has(object.metadata.deletionTimestamp)"
validations:
{{- /* 5464 characters of base64 are 4096 bytes. */}}
- expression: "!has(object.data) || (object.data.size() <= 16 && object.data.all(name, object.data[name].size() <= 5464))"
  message: a Secret with the label modelgateway.dev/api-key holds a key, and may have 16 entries of 4096 bytes each. Keep other data in a Secret without the label.
{{- end }}
