/**
 * [P] One YAML document → the object in it, admitted as an API server would, or every mistake with its line.
 */
import type { Document, LineCounter, YAMLError } from 'yaml';
import type { FieldError, FieldPath } from '#crds/field-path.ts';
import { fieldError } from '#crds/field-path.ts';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { admit, admitKnown } from '#crds/schema.ts';
import type { Admission } from '#crds/schema.ts';
import type { ObjectMeta, Resource } from '#crds/types.gen.ts';
import type { Labels, SecretObject } from '../store/resources.ts';
import { CORE_KINDS, coreErrors, isCoreKind, secretData, stringMap } from './core-objects.ts';
import type { CoreKind } from './core-objects.ts';
import { findMetadata } from './known-content.ts';
import type { KnownContent, KnownContents, MetadataPlace } from './known-content.ts';
import { locate } from './locate.ts';
import { parsePlainYaml } from './plain-yaml.ts';
import { yaml } from './yaml.ts';

export interface ParseOptions {
  readonly kinds: ReadonlyMap<string, KindSchema>;
  /** Where objects without a namespace live. */
  readonly defaultNamespace: string;
  /** What was read before with the same kinds. */
  readonly known?: KnownContents;
}

/** A manifest's content. */
export type Manifest =
  | ResourceManifest
  | { readonly sort: 'Secret'; readonly secret: SecretObject }
  | { readonly sort: 'Namespace'; readonly name: string; readonly labels: Labels };

export interface ResourceManifest {
  readonly sort: 'Resource';
  readonly object: Resource;
  /** The object with its generation, as it was given out last. */
  numbered?: Resource;
}

/** A mistake at a line and column of the document, both from 1. */
interface DocumentProblem {
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** What one document is. `id` is "Kind namespace/name", where it says so much. */
export interface ParsedDocument {
  readonly line: number;
  readonly id?: string;
  readonly manifest?: Manifest;
  readonly problems: readonly DocumentProblem[];
}

/** Aliases may repeat a part, but not blow the object up. */
const MOST_ALIASES = 100;

/** The documents of a text: mostly one, none where there are only comments. */
export function parseDocuments(text: string, options: ParseOptions): ParsedDocument[] {
  const plain = parsePlain(text, options);
  return plain ? [plain] : parseWhole(text, options);
}

/** A document in plain YAML with a good object in it; undefined otherwise, since only the whole parser knows where its mistakes are. */
function parsePlain(text: string, options: ParseOptions): ParsedDocument | undefined {
  const place = options.known && findMetadata(text);
  const again = place && parseAgain(text, place, options);
  if (again) return again;
  const plain = parsePlainYaml(text);
  if (!plain) return undefined;
  const read = readObject(plain.object, options);
  const document = withoutMistakes(read, plain.line);
  if (document && place && read.content) options.known?.remember(text, place, { line: plain.line, ...read.content });
  return document;
}

/** A document of which only the metadata is new. */
function parseAgain(text: string, place: MetadataPlace, { known, defaultNamespace }: ParseOptions): ParsedDocument | undefined {
  const before = known?.get(text, place);
  const metadata = before && parsePlainYaml(text.slice(place.start, place.end))?.object['metadata'];
  if (!before || !isJsonObject(metadata)) return undefined;
  const admission = admitKnown(before.schema, { ...before.content, metadata });
  return withoutMistakes(readAdmitted(before.schema, admission, { metadata, defaultNamespace }), before.line);
}

function withoutMistakes({ id, manifest, errors }: ReadObject, line: number): ParsedDocument | undefined {
  return id === undefined || !manifest || errors.length > 0 ? undefined : { line, id, manifest, problems: [] };
}

function parseWhole(text: string, options: ParseOptions): ParsedDocument[] {
  const { LineCounter, parseAllDocuments } = yaml();
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true, stringKeys: true, logLevel: 'silent' });
  const documents = Array.isArray(parsed) ? parsed : [];
  return documents.flatMap((document) => {
    const syntax = document.errors.map((error) => ({ ...position(lines, error.pos[0]), path: '', message: wordsOf(error) }));
    if (syntax.length > 0) return [{ line: syntax[0]?.line ?? 1, problems: syntax }];
    return isEmpty(document) ? [] : [parseObject(document, lines, options)];
  });
}

/** Nothing between two separators, or after the last one: kubectl takes that too. */
function isEmpty({ contents }: Document): boolean {
  return contents === null || (yaml().isScalar(contents) && contents.value === null && contents.source === '');
}

function parseObject(document: Document, lines: LineCounter, options: ParseOptions): ParsedDocument {
  const at = (path: FieldPath) => position(lines, locate(document, path));
  const { line } = at([]);
  const object = toObject(document);
  if (typeof object === 'string') return { line, problems: [{ ...at([]), path: '', message: object }] };
  const { id, manifest, errors } = readObject(object, options);
  const problems = errors.map(({ segments, path, message }) => ({ ...at(segments), path, message }));
  return { line, ...(id === undefined ? {} : { id }), ...(manifest && errors.length === 0 ? { manifest } : {}), problems };
}

/** The document as JSON, or what keeps it from being an object. */
function toObject(document: Document): JsonObject | string {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch {
    return 'YAML: too many aliases, or one to an anchor that does not exist';
  }
  return isJsonObject(value) ? value : 'not an object: a manifest begins with apiVersion and kind';
}

interface ReadObject {
  readonly id?: string;
  readonly manifest?: Manifest;
  /** Of one of the five kinds, admitted. */
  readonly content?: Omit<KnownContent, 'line'>;
  readonly errors: readonly FieldError[];
}

function readObject(object: JsonObject, options: ParseOptions): ReadObject {
  const kind = object['kind'];
  if (isCoreKind(kind)) return readCore(kind, object, options.defaultNamespace);
  const schema = typeof kind === 'string' ? options.kinds.get(kind) : undefined;
  if (schema) return readResource(schema, object, options.defaultNamespace);
  const known = [...options.kinds.keys(), ...CORE_KINDS].join(', ');
  if (typeof kind !== 'string' || kind === '') return { errors: [fieldError(['kind'], `required; one of ${known}`)] };
  return { errors: [fieldError(['kind'], `unknown kind ${JSON.stringify(kind)}; a gateway's folder holds ${known}`)] };
}

function readResource(schema: KindSchema, object: JsonObject, defaultNamespace: string): ReadObject {
  const admission = admit(schema, object);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const { metadata: _, ...content } = admission.object;
  return { ...readAdmitted(schema, admission, { metadata, defaultNamespace }), content: { schema, content } };
}

function readAdmitted(schema: KindSchema, { object: admitted, errors }: Admission, { metadata, defaultNamespace }: { readonly metadata: JsonObject; readonly defaultNamespace: string }): ReadObject {
  const { name, namespace } = identityOf({ metadata }, defaultNamespace);
  const id = `${schema.kind} ${namespace}/${name}`;
  const created = metadata['creationTimestamp'];
  const all = typeof created === 'string' && Number.isNaN(Date.parse(created)) ? [...errors, fieldError(['metadata', 'creationTimestamp'], 'must be an RFC 3339 time')] : errors;
  const own: ObjectMeta = { name, namespace, uid: `${namespace}/${name}`, labels: stringMap(metadata['labels']), annotations: stringMap(metadata['annotations']) };
  const placed: unknown = { ...admitted, metadata: typeof created === 'string' ? { ...own, creationTimestamp: created } : own };
  return { id, errors: all, ...(isAdmitted(placed, all) ? { manifest: { sort: 'Resource', object: placed } } : {}) };
}

/** The generated types say what the schema says, so an object without mistakes has the type. */
function isAdmitted(_object: unknown, errors: readonly FieldError[]): _object is Resource {
  return errors.length === 0;
}

function readCore(kind: CoreKind, object: JsonObject, defaultNamespace: string): ReadObject {
  const errors = coreErrors(kind, object);
  const { name, namespace } = identityOf(object, defaultNamespace);
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const labels = stringMap(metadata['labels']);
  if (kind === 'Namespace') return { id: `Namespace ${name}`, errors, manifest: { sort: 'Namespace', name, labels } };
  const secret = { namespace, name, labels, annotations: stringMap(metadata['annotations']), data: secretData(object) };
  return { id: `Secret ${namespace}/${name}`, errors, manifest: { sort: 'Secret', secret } };
}

function identityOf({ metadata }: JsonObject, defaultNamespace: string): { name: string; namespace: string } {
  const { name, namespace } = isJsonObject(metadata) ? metadata : {};
  return {
    name: typeof name === 'string' ? name : '',
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : defaultNamespace,
  };
}

function position(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/** The parser's words, except where they would repeat the text, which may be a Secret's. */
function wordsOf({ code, message }: YAMLError): string {
  return `YAML: ${SAFE_WORDS[code] ?? message}`;
}

const SAFE_WORDS: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_ALIAS: 'an alias to an anchor that does not exist',
  BAD_DIRECTIVE: 'a directive that is not known',
  BAD_DQ_ESCAPE: 'an escape sequence that is not valid in double quotes',
  DUPLICATE_KEY: 'this key is in its map twice',
  TAG_RESOLVE_FAILED: 'a tag that is not known, or does not fit its value',
  UNEXPECTED_TOKEN: 'something that does not belong here',
};
