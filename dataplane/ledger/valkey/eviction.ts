/** Whether a store may evict keys when its memory is full, and with them forget what was spent. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, openConnection } from './connection.ts';
import type { ValkeyConnection } from './connection.ts';
import { bucketBases, parseValkeyUrl } from './location.ts';
import type { ValkeyLocation } from './location.ts';

const POLL_MS = 50;

/**
 * The policy by which a server of the store evicts keys; undefined: none does. Rejects if a server cannot be asked, or
 * the user may not ask it (`INFO`).
 */
export async function readEvictionPolicy(
  connection: Pick<ValkeyConnection, 'command'>,
  location: ValkeyLocation,
): Promise<string | undefined> {
  const infos = await Promise.all(bucketBases(location).map((base) => connection.command(base, ['INFO', 'memory'])));
  return infos.map(policyIn).find((policy) => policy !== undefined);
}

function policyIn(info: unknown): string | undefined {
  const text = String(info);
  const [, bytes] = /^maxmemory:(\d+)/m.exec(text) ?? [];
  const [, policy] = /^maxmemory_policy:(\S+)/m.exec(text) ?? [];
  return bytes === '0' || policy === 'noeviction' ? undefined : policy;
}

/** Errors by which a server refuses to say anything; no later try gets another answer. */
const REFUSED = /^(?:WRONGPASS|NOAUTH|DENIED)\b/;
/** Errors by which a server refuses a user one command. */
const NOT_PERMITTED = /^NOPERM\b/;

/**
 * What is wrong with a store, as a sentence; undefined: nothing, or the user may not ask. Waits for at most so long for
 * a connection.
 */
export async function examineStore(url: string, timeoutMs: number): Promise<string | undefined> {
  const location = parseValkeyUrl(url);
  const connection = openConnection(location);
  const untilMs = performance.now() + timeoutMs;
  try {
    for (;;) {
      const asked = await readEvictionPolicy(connection, location).then(
        (policy) => ({ policy }),
        (error: unknown) => ({ failure: messageOf(error) }),
      );
      if ('policy' in asked) return asked.policy && evictionFault(asked.policy);
      if (NOT_PERMITTED.test(asked.failure)) return undefined;
      const failure = connection.lastFailure() || asked.failure;
      if (REFUSED.test(failure) || performance.now() > untilMs) return `The ledger's store cannot be asked: ${failure}`;
      await sleep(POLL_MS);
    }
  } finally {
    connection.close();
  }
}

/** What is wrong with a store that evicts keys: a sentence for the log and for `mgw doctor`. */
export function evictionFault(policy: string): string {
  return (
    `The ledger's store evicts keys when its memory is full (maxmemory-policy ${policy}), and would forget what was ` +
    'spent. Set maxmemory-policy to noeviction.'
  );
}
