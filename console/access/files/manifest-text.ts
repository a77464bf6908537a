/**
 * Changes, adds or removes one object in a file's text. The result is parsed again: it holds exactly the wanted object,
 * and every other document is unchanged.
 */
import { isDeepStrictEqual } from 'node:util';
import { dump } from 'js-yaml';
import { formatPath } from '#crds/field-path.ts';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { admit } from '#crds/schema.ts';
import type { Origin } from '#manifests/load-folder.ts';
import { isFaulty, parseDocuments } from '#manifests/parse-document.ts';
import type { ParseOptions } from '#manifests/parse-document.ts';
import { splitDocuments } from '#manifests/split-documents.ts';
import { readYaml } from '#manifests/yaml.ts';
import { AccessError } from '../access.ts';

/** An object and its place in a file. */
export interface ManifestText {
  readonly id: string;
  readonly origin: Origin;
  /** Of the whole file. */
  readonly text: string;
  readonly options: ParseOptions;
}

interface Split {
  readonly before: string;
  readonly own: string;
  readonly after: string;
  /** Of the file, from 0, at which the own text begins. */
  readonly firstLine: number;
}

/** The manifest as it is written, without defaults. @throws AccessError */
export function readManifest(place: ManifestText): JsonObject {
  const object = readYaml(split(place).own)[0]?.value;
  if (isJsonObject(object)) return object;
  throw new AccessError('Invalid', `${place.origin.file}:${place.origin.line}: this is not one object.`);
}

/** The file's text with this manifest in the place of the former one. Rejects with AccessError. */
export async function replaceManifest(place: ManifestText, manifest: JsonObject): Promise<string> {
  const parts = split(place);
  const { before, after } = parts;
  const edited = await editDocument(place, parts, manifest);
  if (!saysOnly(edited, manifest, place)) throw uneditable(place, place.origin.line, 'its text is too unusual');
  return before + edited + after;
}

/** The file's text without the object; undefined: nothing but comments and separators would be left. */
export function removeManifest(place: ManifestText): string | undefined {
  const { before, own, after } = split(place);
  const comments = before === '' && after !== '' ? leadingComments(own) : '';
  const rest = comments + before + after;
  return rest.trim() === '' || /^(?:\s|---)*$/.test(rest) ? undefined : rest;
}

/** The text of a new file. */
export function newManifest(manifest: JsonObject): string {
  return dump(manifest, { lineWidth: -1, noRefs: true, quoteStyle: 'double', seqNoIndent: true });
}

/** Checks the manifest as an API server would. @throws AccessError (Invalid) */
export function assertAdmitted(schema: KindSchema, manifest: JsonObject): void {
  const { errors } = admit(schema, manifest);
  if (errors.length === 0) return;
  const fields = errors.map(({ segments, message }) => ({ path: formatPath(segments), message }));
  throw new AccessError('Invalid', 'Some fields are not valid. Nothing was changed.', { fields });
}

/** Removes fields that have their default values, so that a new file contains only what its author stated. */
export function withoutDefaults(schema: KindSchema, manifest: JsonObject): JsonObject {
  const wanted = admit(schema, manifest).object;
  const trim = (value: JsonObject, rebuild: (inner: JsonObject) => JsonObject): JsonObject => {
    let current = value;
    for (const [field, inner] of Object.entries(value)) {
      const { [field]: _, ...without } = current;
      if (isDeepStrictEqual(admit(schema, rebuild(without)).object, wanted)) current = without;
      else if (isJsonObject(inner))
        current = { ...current, [field]: trim(inner, (smaller) => rebuild({ ...current, [field]: smaller })) };
    }
    return current;
  };
  const { spec } = manifest;
  return isJsonObject(spec) ? { ...manifest, spec: trim(spec, (inner) => ({ ...manifest, spec: inner })) } : manifest;
}

/** The documents around the one that holds the object. */
function split({ id, origin, text, options }: ManifestText): Split {
  const documents = splitDocuments(text);
  const index = documents.findLastIndex(({ firstLine }) => firstLine < origin.line);
  const own = documents[index];
  const parsed = own && parseDocuments(own.text, options);
  if (!own || parsed?.length !== 1 || parsed[0]?.id !== id) {
    const words = 'this document cannot be told from its neighbours; change it in the file.';
    throw new AccessError('Invalid', `${origin.file}:${origin.line}: ${words}`);
  }
  const join = (from: number, to: number): string =>
    documents
      .slice(from, to)
      .map((each) => each.text)
      .join('');
  return { before: join(0, index), own: own.text, after: join(index + 1, documents.length), firstLine: own.firstLine };
}

async function editDocument(place: ManifestText, { own, firstLine }: Split, manifest: JsonObject): Promise<string> {
  const { UneditableError, editYaml } = await import('./edit-yaml.ts');
  try {
    return editYaml(own, manifest);
  } catch (error) {
    if (!(error instanceof UneditableError)) throw error;
    throw uneditable(place, firstLine + own.slice(0, error.offset).split('\n').length, error.message);
  }
}

function uneditable({ id, origin: { file } }: ManifestText, line: number, why: string): AccessError {
  return new AccessError(
    'Invalid',
    `${id} cannot be changed here without harm to its file, ${file}:${line}: ${why}. ` +
      'Change it in the file; it is in force within a second.',
  );
}

/** Whether a text is one valid document that contains the object with exactly this manifest. */
function saysOnly(text: string, manifest: JsonObject, { id, options }: ManifestText): boolean {
  const [document, ...more] = parseDocuments(text, options);
  if (document?.id !== id || isFaulty(document) || more.length > 0 || splitDocuments(text).length !== 1) return false;
  return isDeepStrictEqual(readYaml(text)[0]?.value, manifest);
}

/** What a file begins with and an empty line sets off belongs to the file, not to its first object. */
function leadingComments(text: string): string {
  return /^(?:[ \t]*#[^\n]*\n)+(?=[ \t]*\r?\n)/.exec(text)?.[0] ?? '';
}
