/** [P] An object as a form would leave it: checked as the API server would, and as patches and manifests to copy. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonArray, isJsonObject, itemsOf } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import { objectsOf } from '#objects/resources.ts';
import type { ApiFieldError, ObjectRef } from '../../access/access.ts';
import { toYaml } from '../../queries/manifest.ts';
import type { ConsoleDeps } from '../../route.ts';
import type { EditedObject } from '../compute-change.ts';
import type { EditedKind, Place } from './places.ts';

interface Edit {
  readonly kind: EditedKind;
  readonly ref: ObjectRef;
  readonly spec: JsonObject;
}

/** The object with its defaults, or every error of its fields. */
export async function checkEdit(
  { kind, ref: { namespace, name }, spec }: Edit,
  { loadManifests }: Pick<ConsoleDeps, 'loadManifests'>,
): Promise<{ readonly object: EditedObject } | { readonly faults: readonly ApiFieldError[] }> {
  const loaded = loadManifests(toYaml({ apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec }));
  const faults = (await loaded.diagnose()).filter(({ severity }) => severity === 'Error');
  const [object] = objectsOf(loaded.resources, kind);
  if (faults.length > 0 || !object) return { faults: faults.map(({ path, message }) => ({ path, message })) };
  return { object };
}

/** The merge patch (RFC 7386) that makes one object of the other. */
export function mergePatchTo(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const [old, value] = [before[name], after[name]];
      if (isDeepStrictEqual(old, value)) return [];
      if (isJsonObject(old) && isJsonObject(value)) return [[name, mergePatchTo(old, value)]];
      return [[name, value ?? null]];
    }),
  );
}

interface PatchOf {
  readonly place: Place;
  readonly ref: ObjectRef;
  /** undefined: the object is new. */
  readonly before: JsonObject | undefined;
  readonly after: JsonObject;
  /** Of the entry that is edited; undefined: it is new. */
  readonly index: number | undefined;
}

/** What somebody puts into a repository instead of saving it here. */
export interface Patch {
  /** "PriceCatalog all" */
  readonly object: string;
  readonly text: string;
  readonly fileName: string;
  /** Applies the file. */
  readonly command: string;
}

/** The manifest of a new object, the JSON patch (RFC 6902) of an entry, or the merge patch of other fields. */
export function patchOf({ place: { kind, list }, ref, before, after, index }: PatchOf): Patch {
  const { namespace, name } = ref;
  const object = `${kind} ${name}`;
  if (!before) {
    const manifest = { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec: after };
    return { object, text: toYaml(manifest), fileName: `${name}.yaml`, command: `kubectl apply -f ${name}.yaml` };
  }
  const type = list === undefined ? 'merge' : 'json';
  const text =
    list === undefined
      ? toYaml({ spec: mergePatchTo(before, after) })
      : toYaml(entryPatch(list, { before, after, index }));
  const command = `kubectl patch ${kind.toLowerCase()}s.modelgateway.dev ${name} --namespace ${namespace} --type ${type} --patch-file patch.yaml`;
  return { object, text, fileName: 'patch.yaml', command };
}

/** It fails where somebody has moved the entry meanwhile. */
function entryPatch(
  list: 'models' | 'channels',
  { before, after, index }: Pick<PatchOf, 'after' | 'index'> & { readonly before: JsonObject },
): Json {
  const [entries, wanted] = [itemsOf(before[list]), itemsOf(after[list])];
  if (index === undefined) return [{ op: 'add', path: `/spec/${list}/-`, value: wanted.at(-1) ?? null }];
  const entry = entries[index];
  const path = `/spec/${list}/${index}`;
  return [
    { op: 'test', path: `${path}/name`, value: isJsonObject(entry) ? (entry['name'] ?? null) : null },
    { op: 'replace', path, value: wanted[index] ?? null },
  ];
}

/** One value that an edit changes. */
export interface ChangedValue {
  /** "usdPerMillion.input" */
  readonly path: string;
  /** undefined: it has none. */
  readonly was: string | undefined;
  readonly becomes: string | undefined;
}

/** The values that differ, by their paths. */
export function changedValues(before: Json | undefined, after: Json | undefined): ChangedValue[] {
  const [old, next] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter((path) => old.get(path) !== next.get(path))
    .map((path) => ({ path, was: old.get(path), becomes: next.get(path) }));
}

function leavesOf(value: Json | undefined, path = ''): Map<string, string> {
  if (value === undefined) return new Map();
  const below: readonly (readonly [string, Json])[] = isJsonArray(value)
    ? value.map((item, index): [string, Json] => [`${path}[${index}]`, item])
    : isJsonObject(value)
      ? Object.entries(value).map(([name, each]) => [path === '' ? name : `${path}.${name}`, each])
      : [];
  if (below.length === 0)
    return path === '' ? new Map() : new Map([[path, typeof value === 'string' ? value : JSON.stringify(value)]]);
  return new Map(below.flatMap(([name, each]) => [...leavesOf(each, name)]));
}
