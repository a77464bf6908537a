/**
 * Lets the admin of one machine change a folder of manifests. Reads return what the operator has in force, with
 * statuses. A change edits the file that the object came from: the file is read again, the edit is validated first and
 * touches one place, and the console waits until the operator has applied it.
 */
import { isTenantKind } from '#crds/kinds.ts';
import type { ApiKey, Kind } from '#crds/types.gen.ts';
import { KEY_ENTRY, secretRefOf } from '#objects/key-secret.ts';
import { allOf, objectsOf } from '#objects/resources.ts';
import type { AccessVerb, ConsoleAccess, Listing, ObjectChange, ObjectOf, ObjectRef, PersonAccess } from './access.ts';
import { changeManifest, createManifest, deleteManifest, findObject } from './files/changes.ts';
import type { FolderChanges } from './files/changes.ts';
import type { ManifestSource } from './files/source.ts';
import { readOnlyReason } from './files/write-file.ts';
import { keysOfList } from './key-access.ts';
import type { KeyDirectory } from './key-access.ts';
import { createMutex } from '#runtime/mutex.ts';

interface FilesAccessOptions extends FolderChanges {
  /** Whether this is the admin token. */
  readonly isToken: (token: string) => boolean;
}

/** The name of the admin token's holder in the log. */
const ADMIN = 'admin';
const READS: ReadonlySet<AccessVerb> = new Set<AccessVerb>(['get', 'list']);

/** Access with the admin token of one machine. */
export function createFilesAccess(options: FilesAccessOptions): ConsoleAccess {
  const admin = adminOf(options);
  return { backend: 'Files', signIn: async ({ token }) => (options.isToken(token) ? admin : undefined) };
}

function adminOf(options: FilesAccessOptions): PersonAccess {
  const { source } = options;
  const inTurn = createMutex();
  const withStatus = <K extends Kind>(object: ObjectOf<K>): ObjectOf<K> => {
    const { kind, metadata } = object;
    const status = source.statusOf({ kind, ...metadata });
    return status === undefined ? object : { ...object, status };
  };
  const may = async (verb: AccessVerb): Promise<boolean> =>
    READS.has(verb) || (await readOnlyReason(source.folder)) === undefined;

  return {
    person: { name: ADMIN },
    async list<K extends Kind>(kind: K): Promise<Listing<K>> {
      await source.readSpending();
      return { allowed: true, objects: objectsOf(source.resources, kind).map(withStatus) };
    },
    async get<K extends Kind>(kind: K, ref: ObjectRef) {
      await source.readSpending();
      const found = findObject(source.resources, kind, ref);
      return found && withStatus(found);
    },
    create: <K extends Kind>(kind: K, ref: ObjectRef, spec: ObjectOf<K>['spec']) =>
      inTurn(async () => withStatus(await createManifest(options, { kind, ref, spec }))),
    change: <K extends Kind>(kind: K, ref: ObjectRef, change: ObjectChange) =>
      inTurn(async () => withStatus(await changeManifest(options, { kind, ref, change }))),
    remove: (kind, ref, uid) =>
      inTurn(async () => {
        await deleteManifest(options, { kind, ref, uid });
      }),
    async readKeyText(ref) {
      const apiKey = findObject(source.resources, 'ApiKey', ref);
      return apiKey && source.secretOf(secretRefOf(apiKey))?.data.get(KEY_ENTRY);
    },
    may,
    async namespaces(verb, kind) {
      if (!(await may(verb))) return [];
      if (!isTenantKind(kind)) return [source.gatewayNamespace];
      return [...new Set([source.gatewayNamespace, ...source.resources.namespaces.keys()])].sort();
    },
  };
}

/** The keys of a folder of manifests, with the statuses that the operator keeps beside them. */
export function keysOfSource(source: ManifestSource): KeyDirectory {
  const withStatus = (apiKey: ApiKey): ApiKey => {
    const status = source.statusOf({ kind: 'ApiKey', ...apiKey.metadata });
    return status === undefined ? apiKey : { ...apiKey, status };
  };
  return {
    ...keysOfList(() => allOf(source.resources.apiKeys).map(withStatus)),
    async read(ref) {
      await source.readSpending();
      const found = findObject(source.resources, 'ApiKey', ref);
      return found && withStatus(found);
    },
  };
}
