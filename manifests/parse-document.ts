/** [P] Parses a YAML text to its objects, each admitted as an API server would, or with all its mistakes. */
import type { FieldError } from '#crds/field-path.ts';
import { fieldError } from '#crds/field-path.ts';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { admit } from '#crds/schema.ts';
import type { ObjectMeta, Resource } from '#crds/types.gen.ts';
import type { Labels, SecretObject } from '#objects/resources.ts';
import { CORE_KINDS, coreErrors, isCoreKind, secretData, stringMap } from './core-objects.ts';
import type { CoreKind } from './core-objects.ts';
import { foreignObject } from './foreign-objects.ts';
import { YamlError, findAmbiguous, readYaml } from './yaml.ts';
import type { YamlDocument } from './yaml.ts';

export interface ParseOptions {
  readonly kinds: ReadonlyMap<string, KindSchema>;
  /** The namespace of objects that name none. */
  readonly defaultNamespace: string;
}

/** A manifest's content. */
export type Manifest =
  | { readonly sort: 'Resource'; readonly object: Resource }
  | { readonly sort: 'Secret'; readonly secret: SecretObject }
  | { readonly sort: 'Namespace'; readonly name: string; readonly labels: Labels };

/** One document and its object. */
export interface ParsedDocument {
  /** The line of the text, from 1, at which the object begins. */
  readonly line: number;
  /** "Kind namespace/name", if the document contains these. */
  readonly id?: string;
  /** Absent if there are mistakes. */
  readonly manifest?: Manifest;
  readonly errors: readonly FieldError[];
  /** Why the object is left out: it is for other programs than the gateway. */
  readonly skipped?: string;
  /** Set if the whole text is not YAML, or for a value that other programs read in another way. */
  readonly yamlError?: YamlError;
}

const LIST = 'a List is not read: write its items as documents of their own, separated by ---';
const NO_OBJECT = fieldError([], 'not an object: a manifest begins with apiVersion and kind');

/** The documents of a text that are not empty, and after them a document for each ambiguous value. */
export function parseDocuments(text: string, options: ParseOptions): ParsedDocument[] {
  try {
    const documents = readYaml(text).map((document) => parseObject(document, options));
    const ambiguous = findAmbiguous(text).map((error) => ({ line: error.line, errors: [], yamlError: error }));
    return [...documents, ...ambiguous];
  } catch (error) {
    if (error instanceof YamlError) return [{ line: error.line, errors: [], yamlError: error }];
    throw error;
  }
}

/** True if a document has a mistake. */
export function isFaulty({ errors, yamlError }: ParsedDocument): boolean {
  return errors.length > 0 || yamlError !== undefined;
}

function parseObject({ line, value }: YamlDocument, options: ParseOptions): ParsedDocument {
  if (!isJsonObject(value)) return { line, errors: [NO_OBJECT] };
  const skipped = foreignObject(value, options.kinds);
  if (skipped !== undefined) return { line, errors: [], skipped };
  const { id, manifest, errors } = readObject(value, options);
  const isGood = manifest !== undefined && errors.length === 0;
  return { line, ...(id === undefined ? {} : { id }), ...(isGood ? { manifest } : {}), errors };
}

type ReadObject = Pick<ParsedDocument, 'id' | 'manifest' | 'errors'>;

function readObject(object: JsonObject, { kinds, defaultNamespace }: ParseOptions): ReadObject {
  const kind = object['kind'];
  if (isCoreKind(kind)) return readCore(kind, object, defaultNamespace);
  const schema = typeof kind === 'string' ? kinds.get(kind) : undefined;
  if (schema) return readResource(schema, object, defaultNamespace);
  const known = [...kinds.keys(), ...CORE_KINDS].join(', ');
  if (kind === 'List') return { errors: [fieldError(['kind'], LIST)] };
  if (typeof kind !== 'string' || kind === '') return { errors: [fieldError(['kind'], `required; one of ${known}`)] };
  return { errors: [fieldError(['kind'], `unknown kind ${JSON.stringify(kind)}; a gateway's folder holds ${known}`)] };
}

function readResource(schema: KindSchema, object: JsonObject, defaultNamespace: string): ReadObject {
  const { object: admitted, errors } = admit(schema, object);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const { name, namespace } = identityOf(metadata, defaultNamespace);
  const id = `${schema.kind} ${namespace}/${name}`;
  const created = metadata['creationTimestamp'];
  const isTime = typeof created !== 'string' || !Number.isNaN(Date.parse(created));
  const all = isTime ? errors : [...errors, fieldError(['metadata', 'creationTimestamp'], 'must be an RFC 3339 time')];
  const own: ObjectMeta = {
    name,
    namespace,
    uid: `${namespace}/${name}`,
    labels: stringMap(metadata['labels']),
    annotations: stringMap(metadata['annotations']),
    ...(typeof created === 'string' ? { creationTimestamp: created } : {}),
  };
  const placed: unknown = { ...admitted, metadata: own };
  return { id, errors: all, ...(isAdmitted(placed, all) ? { manifest: { sort: 'Resource', object: placed } } : {}) };
}

/** The generated types match the schema, so an object without errors has the type. */
function isAdmitted(_object: unknown, errors: readonly FieldError[]): _object is Resource {
  return errors.length === 0;
}

function readCore(kind: CoreKind, object: JsonObject, defaultNamespace: string): ReadObject {
  const errors = coreErrors(kind, object);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const { name, namespace } = identityOf(metadata, defaultNamespace);
  const labels = stringMap(metadata['labels']);
  if (kind === 'Namespace') return { id: `Namespace ${name}`, errors, manifest: { sort: 'Namespace', name, labels } };
  const secret = { namespace, name, labels, annotations: stringMap(metadata['annotations']), data: secretData(object) };
  return { id: `Secret ${namespace}/${name}`, errors, manifest: { sort: 'Secret', secret } };
}

function identityOf({ name, namespace }: JsonObject, defaultNamespace: string): { name: string; namespace: string } {
  return {
    name: typeof name === 'string' ? name : '',
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : defaultNamespace,
  };
}
