/** [P] Where the pages of the Wallet are, and what a key is called there whose object is gone. */
import type { ObjectRef } from '../access/access.ts';

type AccountPage = 'calls' | 'calls.csv' | 'grants';

/** "/wallet/team-a/main?days=7", or one of its pages; parameters that are empty are left out. */
export function accountPath({ namespace, name }: ObjectRef, page?: AccountPage, parameters: Readonly<Record<string, string>> = {}): string {
  const path = `/wallet/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${page === undefined ? '' : `/${page}`}`;
  return withParameters(path, parameters);
}

export function withParameters(path: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}

const SHOWN_OF_UID = 8;

/** For a key whose object nobody can show any more. A folder knows keys by "namespace/name", a cluster by UUIDs, whose beginning is enough. */
export function shortUid(uid: string): string {
  return uid.includes('/') ? uid.slice(uid.indexOf('/') + 1) : `${uid.slice(0, SHOWN_OF_UID)}…`;
}
