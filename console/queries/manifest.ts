/** [P] Writes an object as the YAML that somebody would apply: without its status and what the server adds. */
import { dump } from 'js-yaml';
import type { Resource } from '#crds/types.gen.ts';

export function manifestOf(object: Resource): string {
  const {
    apiVersion,
    kind,
    metadata: { namespace, name, labels, annotations },
    spec,
  } = object;
  // kubectl's own annotations mean nothing to a reader
  const own = Object.entries(annotations ?? {}).filter(([key]) => !key.startsWith('kubectl.kubernetes.io/'));
  const metadata = {
    name,
    namespace,
    ...(labels && Object.keys(labels).length > 0 && { labels }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  };
  return toYaml({ apiVersion, kind, metadata, spec });
}

/** A value as YAML, in the style of the project's manifests. */
export function toYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, quoteStyle: 'double', seqNoIndent: true });
}
