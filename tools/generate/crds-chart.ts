/**
 * The definitions: the conditions that all kinds share, and crds/*.yaml as templates of a Helm chart, with labels,
 * annotations and a policy that keeps them.
 */

const METADATA = /^metadata:\n {2}name: (\S+)\n/m;
const CONDITIONS_MARK = '# Generated from crds/schema/conditions.yaml by npm run generate.';
const STATUS_INDENT = ' '.repeat(16);
const CONDITIONS = new RegExp(
  `^${STATUS_INDENT}${CONDITIONS_MARK}\\n${STATUS_INDENT}conditions:\\n(?:${STATUS_INDENT} .*\\n)*`,
  'm',
);

/** A definition with the conditions that all kinds share, given as YAML without indentation. */
export function withConditions(definition: string, conditions: string): string {
  if (!CONDITIONS.test(definition)) throw new Error(`a definition lacks the line "${CONDITIONS_MARK}"`);
  const lines = [CONDITIONS_MARK, ...conditions.trimEnd().split('\n')];
  return definition.replace(CONDITIONS, () => lines.map((line) => `${STATUS_INDENT}${line}\n`).join(''));
}

/** The template of one definition, or a reason why it cannot be one. */
export function crdTemplate(text: string): string {
  if (text.includes('{{')) throw new Error('a definition must not hold {{, which Helm would evaluate');
  if (!METADATA.test(text))
    throw new Error('a definition must begin its metadata with its name and have nothing else there');
  return `{{- /* Generated from crds/ by npm run generate. */}}\n${text.replace(METADATA, (_, name: string) => metadata(name))}`;
}

/** Named templates that list all kinds, for RBAC rules and admission policies. */
export function kindsTemplate(kinds: readonly { readonly plural: string }[]): string {
  const plurals = kinds.map(({ plural }) => plural);
  return `{{- /* Generated from crds/ by npm run generate. */}}

{{- define "gateway.kinds" -}}
${plurals.join(', ')}
{{- end }}

{{- define "gateway.kindStatuses" -}}
${plurals.map((plural) => `${plural}/status`).join(', ')}
{{- end }}
`;
}

function metadata(name: string): string {
  return `metadata:
  name: ${name}
  labels:
    app.kubernetes.io/name: model-gateway
    app.kubernetes.io/part-of: model-gateway
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    app.kubernetes.io/managed-by: {{ .Release.Service }}
    {{- with .Values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.keep .Values.annotations }}
  annotations:
    {{- if .Values.keep }}
    helm.sh/resource-policy: keep
    {{- end }}
    {{- with .Values.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
`;
}
