/** GET /v1/key: the calling key's own limits and spending. */
import type { FastifyInstance } from 'fastify';
import { windowOf } from '#ledger/periods.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { keyView } from '../views/key.ts';

export function key(app: FastifyInstance, { ledger, state }: ServerDeps): void {
  app.get(PATHS.key.path, { config: { endpoint: 'key' } }, async (request) => {
    const { key, keyHash } = callerOf(request);
    const { period, quota } = key;
    const current = state.get();
    const limits = current.accounts.get(key.account)?.spending ?? [];
    const windows = limits.flatMap((limit) => windowOf(limit) ?? []);
    const [spending, account] = await Promise.all([
      ledger.readKey(key.uid, { period, timeZone: quota.timeZone }, key.account),
      ledger.readAccount(key.account, windows),
    ]);
    return keyView({ key, state: current, spending, account, notAfterMs: state.credential(keyHash)?.notAfterMs });
  });
}
