/**
 * Decides which calls a person may see: those of an account that the person may read, or else those of one key. The API
 * server decides about rights; the address only states what is requested.
 */
import { Type } from 'typebox';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import type { PageRequest } from '../route.ts';
import { queryText } from '../request-schema.ts';
import type { OBJECT } from '../request-schema.ts';
import type { CallQuery } from '../data/usage.ts';

export interface VisibleCalls {
  readonly ref: ObjectRef;
  /** undefined: the person may not read it, and sees only `key`. */
  readonly account: Account | undefined;
  /** The requested key. Always present if `account` is not. */
  readonly key: ApiKey | undefined;
  /** The requested name, if no key of the account that the person may know of has it. */
  readonly unknownKey: string | undefined;
}

/** The query of a page about an account's calls, or those of one key. */
export const KEY_QUERY = Type.Object({ key: queryText() });

/** The account of the path, with the key of `?key=`. Rejects with AccessError where the person may read neither. */
export async function readVisibleCalls(
  request: PageRequest<{ readonly params: typeof OBJECT; readonly query: typeof KEY_QUERY }>,
): Promise<VisibleCalls> {
  const {
    params: ref,
    query: { key: asked = '' },
  } = request;
  const keyName = asked.trim();
  const key = keyName === '' ? undefined : await readKeyOf(ref, keyName, request);
  return {
    ref,
    key,
    account: await readAccount(ref, request, key !== undefined),
    unknownKey: key || keyName === '' ? undefined : keyName,
  };
}

/** undefined: the person may not read the account, but sees a key of it. */
async function readAccount(
  ref: ObjectRef,
  { person, deps }: Pick<PageRequest, 'person' | 'deps'>,
  seesKey: boolean,
): Promise<Account | undefined> {
  let account: Account | undefined;
  try {
    account = await person.get('Account', ref);
  } catch (error) {
    if (seesKey && error instanceof AccessError && error.reason === 'Forbidden') return undefined;
    throw error;
  }
  if (account?.spec.gatewayNamespace === deps.gatewayNamespace) return account;
  throw new AccessError('NotFound', `There is no Account ${ref.namespace}/${ref.name}.`);
}

/** undefined: there is no such key of this account, or none that the person may know of. */
async function readKeyOf(
  account: ObjectRef,
  name: string,
  { person, deps }: Pick<PageRequest, 'person' | 'deps'>,
): Promise<ApiKey | undefined> {
  try {
    const key = await person.get('ApiKey', { namespace: account.namespace, name });
    return key && key.spec.accountRef.name === account.name && key.spec.gatewayNamespace === deps.gatewayNamespace
      ? key
      : undefined;
  } catch (error) {
    if (error instanceof AccessError && (error.reason === 'Forbidden' || error.reason === 'NotFound')) return undefined;
    throw error;
  }
}

/** Which calls these are. A person who sees only a key never asks for more than that key's. */
export function callQueryOf({ ref, account, key, unknownKey }: VisibleCalls, uid = ''): CallQuery {
  const accounts = [`${ref.namespace}/${ref.name}`];
  if (key) return { accounts, keyUid: key.metadata.uid ?? NOBODY };
  if (!account || unknownKey !== undefined) return { accounts, keyUid: NOBODY };
  return uid === '' ? { accounts } : { accounts, keyUid: uid };
}

/** A uid that no key has. */
const NOBODY = '\u0000';

/** The names of an account's keys by their identity, as far as the person may see them. */
export async function keyNames(
  { ref, account, key }: VisibleCalls,
  { person }: Pick<PageRequest, 'person'>,
): Promise<Map<string, string>> {
  if (!account) return new Map(key ? [[key.metadata.uid ?? NOBODY, key.metadata.name]] : []);
  const { objects } = await person.list('ApiKey');
  return new Map(
    objects
      .filter(({ metadata, spec }) => metadata.namespace === ref.namespace && spec.accountRef.name === ref.name)
      .map(({ metadata }) => [metadata.uid ?? NOBODY, metadata.name]),
  );
}
