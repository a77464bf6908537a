/**
 * [P] One Secret ↔ the manifest file that keeps it.
 */
import type { KindSchema } from '#crds/kind-schema.ts';
import { namespacedName } from '../store/resources.ts';
import type { SecretObject } from '../store/resources.ts';
import { parseDocuments } from './parse-document.ts';
import { yaml } from './yaml.ts';

const NOT_HERE: ReadonlyMap<string, KindSchema> = new Map();

/** The Secret in a file that must hold this one ("namespace/name") and nothing else, or what is wrong with it. */
export function parseSecret(text: string, path: string, id: string): SecretObject | string {
  const documents = parseDocuments(text, { kinds: NOT_HERE, defaultNamespace: '' });
  const [document] = documents;
  const problem = document?.problems[0];
  if (problem) return `${path}:${problem.line}: ${problem.path === '' ? '' : `${problem.path}: `}${problem.message}`;
  const manifest = document?.manifest;
  if (manifest?.sort !== 'Secret' || documents.length > 1) return `${path} is not one Secret`;
  return namespacedName(manifest.secret) === id ? manifest.secret : `${path} holds another Secret than its path says`;
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
  return `# ${comment}\n${yaml().stringify(manifest, { lineWidth: 0 })}`;
}
