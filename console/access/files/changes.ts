/**
 * Changes to a folder of manifests. Each one first reads the folder again and ends when the operator has applied it. A
 * folder with errors is not written to, because no change to it would be applied, and no change may make it invalid.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isJsonObject, toJson } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { admit } from '#crds/schema.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import type { ApiKey, Kind, Resource } from '#crds/types.gen.ts';
import { formatDiagnostic } from '#manifests/diagnostic.ts';
import { parseDocuments } from '#manifests/parse-document.ts';
import { isCreatedFor, secretNameOf, secretRefOf } from '#objects/key-secret.ts';
import { namespacedName, objectId, objectsOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { AccessError } from '../access.ts';
import type { ObjectChange, ObjectOf, ObjectRef } from '../access.ts';
import {
  assertAdmitted,
  newManifest,
  readManifest,
  removeManifest,
  replaceManifest,
  withoutDefaults,
} from './manifest-text.ts';
import type { ManifestText } from './manifest-text.ts';
import { asWritten, effectivePatch, mergePatch } from './merge-patch.ts';
import type { ManifestSource } from './source.ts';
import { createFile, removeFile, replaceFile } from './write-file.ts';

export interface FolderChanges {
  readonly source: ManifestSource;
  readonly kinds: ReadonlyMap<string, KindSchema>;
  readonly log: Pick<Logger, 'info'>;
  /** Resolves after so many milliseconds. */
  readonly delay: (ms: number) => Promise<void>;
}

/** How often, and at what interval, a change polls for the operator's result. */
const MAX_POLLS = 100;
const LOOK_MS = 20;
const LONGEST_NAME = 120;
const REPEAT = 'Nothing was written; look at what it says now and repeat the change.';
const MOST_FILE_NAMES = 20;

/** One object; undefined: there is none. */
export function findObject<K extends Kind>(resources: Resources, kind: K, ref: ObjectRef): ObjectOf<K> | undefined {
  const id = namespacedName(ref);
  return objectsOf(resources, kind).find(({ metadata }) => namespacedName(metadata) === id);
}

interface Creation<K extends Kind> {
  readonly kind: K;
  readonly ref: ObjectRef;
  readonly spec: unknown;
}

interface Change<K extends Kind> {
  readonly kind: K;
  readonly ref: ObjectRef;
  readonly change: ObjectChange;
}

interface Deletion {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly uid: string;
}

/** Writes a new file. Rejects with AccessError. */
export async function createManifest<K extends Kind>(changes: FolderChanges, wish: Creation<K>): Promise<ObjectOf<K>> {
  const { source, log } = changes;
  const { kind, ref, spec } = wish;
  const { name, namespace } = ref;
  await readAnew(source);
  if (findObject(source.resources, kind, ref))
    throw new AccessError('AlreadyExists', `${kind} ${namespace}/${name} exists already.`);
  const schema = schemaOf(changes, kind);
  const manifest = { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec: toJson(spec) };
  assertAdmitted(schema, manifest);
  const text = newManifest(withoutDefaults(schema, manifest));
  const [parsed, ...more] = parseDocuments(text, { kinds: changes.kinds, defaultNamespace: source.gatewayNamespace });
  if (!parsed?.manifest || more.length > 0) throw new Error('a new manifest does not say what it should');
  const file = await createFile(source.folder, fileNames(kind, ref), text);
  log.info({ object: objectId(kind, ref), file }, 'created by the console');
  return taken(changes, kind, ref);
}

/** Edits the file that the object came from. Rejects with AccessError. */
export async function changeManifest<K extends Kind>(changes: FolderChanges, wish: Change<K>): Promise<ObjectOf<K>> {
  const { source, log } = changes;
  const { kind, ref, change } = wish;
  await readAnew(source);
  const object = present(source, kind, ref);
  if (object.metadata.uid !== change.uid || object.metadata.generation !== change.generation)
    throw new AccessError(
      'Conflict',
      `${objectId(object.kind, object.metadata)} was changed since you opened it. ${REPEAT}`,
    );
  const place = placeOf(changes, object);
  const before = readManifest(place);
  const wanted = wantedManifest(object, before, toJson(change.patch));
  if (isDeepStrictEqual(before, wanted)) return object;
  const schema = schemaOf(changes, kind);
  assertAdmitted(schema, wanted);
  const old = toJson(object);
  const { errors } = admit(schema, wanted, isJsonObject(old) ? old : undefined);
  const fields = errors.map(({ path, message }) => ({ path, message }));
  if (fields.length > 0)
    throw new AccessError('Invalid', 'Some fields cannot be changed like this. Nothing was changed.', { fields });
  await replaceFile(place.origin.file, place.text, await replaceManifest(place, wanted));
  log.info({ object: objectId(object.kind, object.metadata), file: place.origin.file }, 'changed by the console');
  return taken(changes, kind, ref);
}

/**
 * Removes the object from its file, and its generated key from the data folder. Rejects with AccessError.
 */
export async function deleteManifest(changes: FolderChanges, { kind, ref, uid }: Deletion): Promise<void> {
  const { source, log } = changes;
  await readAnew(source);
  const object = present(source, kind, ref);
  if (object.metadata.uid !== uid)
    throw new AccessError('Conflict', `${objectId(object.kind, object.metadata)} is another one than you opened.`);
  const place = placeOf(changes, object);
  const rest = removeManifest(place);
  if (rest === undefined) await removeFile(place.origin.file, place.text);
  else await replaceFile(place.origin.file, place.text, rest);
  log.info({ object: objectId(object.kind, object.metadata), file: place.origin.file }, 'deleted by the console');
  await source.refresh({ mayBeEmpty: true });
  await readAnew(source);
  if (object.kind === 'ApiKey') await discardKey(source, object);
}

/** As in a cluster, the key is deleted with its ApiKey: a later ApiKey of the same name does not revive it. */
async function discardKey(source: ManifestSource, apiKey: ApiKey): Promise<void> {
  const ref = secretRefOf(apiKey);
  const secret = source.secretOf(ref);
  const others = source.resources.apiKeys.get(ref.namespace) ?? [];
  const shared = others.some((other) => secretNameOf(other) === ref.name);
  if (secret && !shared && isCreatedFor(secret, apiKey)) await source.discardSecret(ref);
}

/** Leaves out what the object has already, defaults included, so that the file gets no redundant line. */
function wantedManifest({ metadata, spec }: Resource, before: JsonObject, patch: Json): JsonObject {
  const { labels = {}, annotations = {} } = metadata;
  const present = { metadata: { labels, annotations }, spec: toJson(spec) };
  const patched = mergePatch(before, effectivePatch(present, patch) ?? {});
  const wanted = asWritten(patched, present, before);
  if (isJsonObject(wanted)) return wanted;
  throw new AccessError('Invalid', 'This is no change of an object.');
}

function present<K extends Kind>(source: ManifestSource, kind: K, ref: ObjectRef): ObjectOf<K> {
  const object = findObject(source.resources, kind, ref);
  if (object) return object;
  throw new AccessError('NotFound', `${kind} ${ref.namespace}/${ref.name} does not exist any more.`);
}

function placeOf({ source, kinds }: FolderChanges, object: Resource): ManifestText {
  const id = objectId(object.kind, object.metadata);
  const origin = source.origins.get(id);
  const text = origin && source.files.get(origin.file)?.text;
  if (!origin || text === undefined) throw new AccessError('Unavailable', `Nobody knows in which file ${id} is.`);
  return { id, origin, text, options: { kinds, defaultNamespace: source.gatewayNamespace } };
}

async function readAnew(source: ManifestSource): Promise<void> {
  await source.refresh();
  const [mistake] = source.diagnostics;
  if (!mistake) return;
  const words = 'The folder of manifests has a mistake, so that no change of it would be in force';
  throw new AccessError('Unavailable', `${words}: ${formatDiagnostic(mistake)}. Mend it first.`);
}

/** The object once the operator has reported on it, or when the polls are used up. */
async function taken<K extends Kind>(changes: FolderChanges, kind: K, ref: ObjectRef): Promise<ObjectOf<K>> {
  const { source, delay } = changes;
  await readAnew(source);
  for (let look = 0; look < MAX_POLLS && !isTaken(source, present(source, kind, ref)); look++) await delay(LOOK_MS);
  return present(source, kind, ref);
}

function isTaken(source: ManifestSource, object: Resource): boolean {
  const {
    kind,
    metadata: { namespace, name, generation = 0 },
  } = object;
  const status = source.statusOf({ kind, namespace, name });
  const programmed = status?.conditions?.find(({ type }) => type === 'Programmed');
  if (programmed?.observedGeneration !== generation) return false;
  const accepted = status?.conditions?.find(({ type }) => type === 'Accepted');
  return programmed.status === 'True' || accepted?.status !== 'True';
}

function schemaOf({ kinds }: FolderChanges, kind: Kind): KindSchema {
  const schema = kinds.get(kind);
  if (!schema) throw new Error(`no schema of the kind ${kind}`);
  return schema;
}

/** "team-a-ci.yaml"; if that exists, the kind is added, then a number. */
function fileNames(kind: Kind, { namespace, name }: ObjectRef): string[] {
  const stem = `${namespace}-${name.slice(0, LONGEST_NAME)}`;
  const withKind = `${stem}-${kind.toLowerCase()}`;
  const numbered = Array.from({ length: MOST_FILE_NAMES }, (_, index) => `${withKind}-${index + 2}`);
  return [stem, withKind, ...numbered].map((each) => `${each}.yaml`);
}
