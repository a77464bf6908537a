/**
 * [P] Edits of a folder that are refused although all manifests are valid: changes that an API server would refuse, and
 * contents that are gone all at once, as after a failed mount, a wrong checkout or a full disk.
 */
import { isJsonObject, parseJson } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';
import { ALL_KINDS } from '#crds/kinds.ts';
import { changeErrors } from '#crds/schema.ts';
import type { Resource } from '#crds/types.gen.ts';
import { objectId, objectsOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { compareDiagnostics } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import type { LoadedFolder } from '#manifests/load-folder.ts';
import type { FileText } from '#manifests/scan-folder.ts';

/** A state of the folder. */
export type FolderState = Pick<LoadedFolder, 'resources' | 'origins'> & {
  /** By path. */
  readonly files: ReadonlyMap<string, FileText>;
};

interface Edit {
  readonly folder: string;
  readonly before: FolderState;
  readonly after: FolderState;
}

const RESTART = 'restart the gateway if this is intended';

/** Files without any content that had some, and a folder without any object. */
export function findLostContents({ folder, before, after }: Edit): Diagnostic[] {
  if (before.origins.size > 0 && after.origins.size === 0)
    return [refusal(folder, `all ${before.origins.size} objects were removed; ${RESTART}`)];
  return [...after.files.values()]
    .filter(({ path, text }) => isBlank(text) && !isBlank(before.files.get(path)?.text ?? ''))
    .map(({ path }) => refusal(path, 'the file is empty; delete the file to delete its objects'));
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function refusal(file: string, message: string): Diagnostic {
  return { severity: 'Error', file, line: 0, path: '', message };
}

/** Changes of fields that cannot be changed, or not in this direction. */
export function findForbiddenChanges(
  { folder, before, after }: Edit,
  kinds: ReadonlyMap<string, KindSchema>,
): Diagnostic[] {
  const changed = changedObjects(before.resources, after.resources);
  return changed
    .flatMap(({ was, is }) => {
      const schema = kinds.get(is.kind);
      const object = objectId(is.kind, is.metadata);
      const origin = after.origins.get(object) ?? { file: folder, line: 0 };
      return (schema ? changeErrors(schema, jsonOf(is), jsonOf(was)) : []).map(({ path, message }): Diagnostic => ({
        severity: 'Error',
        ...origin,
        object,
        path,
        message,
      }));
    })
    .sort(compareDiagnostics);
}

interface ChangedObject {
  readonly was: Resource;
  readonly is: Resource;
}

/** Objects in both states; one whose text is the same is the same object. */
function changedObjects(before: Resources, after: Resources): ChangedObject[] {
  const same = new Set(objectsIn(before));
  const changed = new Map(
    objectsIn(after)
      .filter((object) => !same.has(object))
      .map((object) => [objectId(object.kind, object.metadata), object]),
  );
  if (changed.size === 0) return [];
  return [...same].flatMap((was) => {
    const is = changed.get(objectId(was.kind, was.metadata));
    return is ? [{ was, is }] : [];
  });
}

function objectsIn(resources: Resources): Resource[] {
  return ALL_KINDS.flatMap((kind): readonly Resource[] => objectsOf(resources, kind));
}

/** Plain JSON, as the rules read it. */
function jsonOf(object: Resource): JsonObject {
  const plain = parseJson(JSON.stringify(object));
  return isJsonObject(plain) ? plain : {};
}
