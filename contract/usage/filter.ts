/**
 * [P] Selects usage records.
 */
import type { UsageRecord } from './record.ts';

export interface UsageFilter {
  /** The key's uid, or its "namespace/name". */
  readonly keyUid?: string | undefined;
  /** "namespace/name" */
  readonly account?: string | undefined;
  readonly namespace?: string | undefined;
  /** "name=value" */
  readonly label?: string | undefined;
  readonly model?: string | undefined;
  /** The name of the session, as the client sent it. */
  readonly session?: string | undefined;
  /** Only calls admitted at this time or later, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

export function matchesFilter(record: UsageRecord, filter: UsageFilter): boolean {
  const { model = record.model, session = record.session, sinceMs = 0 } = filter;
  const isOfCall = record.model === model && record.session === session && record.createdMs >= sinceMs;
  return isOfCall && isOfOwner(record, filter);
}

function isOfOwner(record: UsageRecord, filter: UsageFilter): boolean {
  const { account = record.account, namespace = namespaceOf(record) } = filter;
  const isOfAccount = record.account === account && namespaceOf(record) === namespace;
  return isOfAccount && isOfKey(record, filter.keyUid) && isLabelled(record, filter.label);
}

function isOfKey(record: UsageRecord, key: string | undefined): boolean {
  return key === undefined || record.keyUid === key || keyIdOf(record) === key;
}

function isLabelled({ labels = '' }: UsageRecord, label: string | undefined): boolean {
  return label === undefined || labels.split(',').includes(label);
}

/** The namespace of a record's key and account. */
export function namespaceOf({ account }: Pick<UsageRecord, 'account'>): string {
  return account.slice(0, account.indexOf('/'));
}

/** The key's "namespace/name"; undefined if an older version wrote the record. */
export function keyIdOf(record: Pick<UsageRecord, 'account' | 'keyName'>): string | undefined {
  return record.keyName === undefined ? undefined : `${namespaceOf(record)}/${record.keyName}`;
}
