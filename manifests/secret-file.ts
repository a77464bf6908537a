/** [P] Converts between one Secret and the manifest file that keeps it. */
import { dump } from 'js-yaml';
import type { KindSchema } from '#crds/kind-schema.ts';
import { namespacedName } from '#objects/resources.ts';
import type { SecretObject } from '#objects/resources.ts';
import { parseDocuments } from './parse-document.ts';
import type { ParsedDocument } from './parse-document.ts';

const NO_KINDS: ReadonlyMap<string, KindSchema> = new Map();

/** Parses a file that must contain exactly the Secret "namespace/name"; returns a message if it does not. */
export function parseSecret(text: string, path: string, id: string): SecretObject | string {
  const documents = parseDocuments(text, { kinds: NO_KINDS, defaultNamespace: '' });
  const [document] = documents;
  const mistake = document && mistakeIn(document);
  if (mistake !== undefined) return `${path}:${mistake}`;
  const manifest = document?.manifest;
  if (manifest?.sort !== 'Secret' || documents.length > 1) return `${path} is not a single Secret`;
  return namespacedName(manifest.secret) === id
    ? manifest.secret
    : `${path} contains another Secret than its path says`;
}

/** The first mistake, with its line or the object's. */
function mistakeIn({ line, errors: [error], yamlError }: ParsedDocument): string | undefined {
  if (yamlError) return `${line}: YAML: ${yamlError.message}`;
  return error && `${line}: ${error.path === '' ? '' : `${error.path}: `}${error.message}`;
}

/** A v1 Secret manifest; `comment` is its first line. */
export function formatSecret({ namespace, name, labels, annotations, data }: SecretObject, comment: string): string {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels, annotations },
    type: 'Opaque',
    stringData: Object.fromEntries(data),
  };
  return `# ${comment}\n${dump(manifest, { lineWidth: -1, noRefs: true })}`;
}
