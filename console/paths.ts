/** [P] The addresses of the console's pages, by which features lead to one another. */
import type { ApiKey } from '#crds/types.gen.ts';
import type { ObjectRef, PersonAccess } from './access/access.ts';

export interface CallName {
  readonly callId: string;
  readonly keyUid: string;
  /** The time of its admission, by which the ledger finds it; absent: it was refused. */
  readonly createdMs?: number;
}

/** Where the page of a call is opened from. */
export interface CallOpener {
  /** The name of the one key that the page before it shows. */
  readonly key?: string | undefined;
  /** The list that it leads back to, with its filter; absent: the account's calls. */
  readonly from?: string | undefined;
}

export function callPath(
  ref: ObjectRef,
  { callId, keyUid, createdMs }: CallName,
  { key, from }: CallOpener = {},
): string {
  return withParameters(`${accountPath(ref, 'calls')}/${encodeURIComponent(callId)}`, {
    at: createdMs === undefined ? '' : String(createdMs),
    uid: keyUid,
    key: key ?? '',
    from: from ?? '',
  });
}

export type AccountPage = 'calls' | 'calls.csv' | 'grants' | 'refused' | 'take-back';

/** "/wallet/team-a/main?days=7", or one of its pages; parameters that are empty are left out. */
export function accountPath(
  { namespace, name }: ObjectRef,
  page?: AccountPage,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const path = `/wallet/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${page === undefined ? '' : `/${page}`}`;
  return withParameters(path, parameters);
}

export function withParameters(path: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** A route's part of the page of routes. */
export function routePath(route: string): string {
  return `/routes#route-${encodeURIComponent(route)}`;
}

/** Below it each model has its page. */
export const MODEL_ROOT = '/models/';

/** The page of a model, which is there as long as the model has a price. */
export function modelPath(model: string): string {
  return MODEL_ROOT + encodeURIComponent(model.toWellFormed());
}

/** What a form over a schema is about. */
export interface EditedNames {
  readonly object?: string;
  /** Of the object's list. */
  readonly entry?: string;
}

/** The address of a form over a schema. Without `object`, of one that is new; without `entry`, of a new entry in it. */
export function editPath(place: string, { object = '', entry = '' }: EditedNames = {}): string {
  return withParameters(`/edit/${place}`, { object, entry });
}

/** The form that adds a model with its price. */
export const NEW_MODEL_PATH = '/edit/new-model';

/** Finds things by what people paste. */
export const FIND_PATH = '/find';

/** The first page of a person. */
export function homeOf({ ownKey }: PersonAccess): string {
  return ownKey ? keyPath({ metadata: ownKey }) : '/keys';
}

/** The form of a new key with this one's settings. */
export function copyPath({ metadata: { namespace, name } }: ApiKey): string {
  return `/keys/new?copy=${encodeURIComponent(`${namespace}/${name}`)}`;
}

export type KeySubpage =
  'activity' | 'settings' | 'use' | 'limit' | 'enabled' | 'rotate' | 'delete' | 'created' | 'yaml';

/** "/keys/team-a/ci-bot", or a page below it. */
export function keyPath({ metadata: { namespace, name } }: Pick<ApiKey, 'metadata'>, page?: KeySubpage): string {
  const path = `/keys/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return page === undefined ? path : `${path}/${page}`;
}

/** The address of the page that shows the key of a rotation which was asked for at this moment. */
export function createdPath(apiKey: Pick<ApiKey, 'metadata'>, rotation: number, nowMs: number): string {
  return `${keyPath(apiKey, 'created')}?rotation=${rotation}&since=${nowMs}`;
}
