/** GET /v1/key: the calling key's own limits and spending. */
import type { FastifyInstance } from 'fastify';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { keyView } from '../views/key.ts';

export function key(app: FastifyInstance, { ledger, state }: ServerDeps): void {
  app.get(PATHS.key.path, { config: { endpoint: 'key' } }, async (request) => {
    const { key, keyHash } = callerOf(request);
    const [spending, account] = await Promise.all([
      ledger.readKey(key.uid, key.period, key.account),
      ledger.readAccount(key.account),
    ]);
    return keyView({ key, state: state.get(), spending, account, notAfterMs: state.credential(keyHash)?.notAfterMs });
  });
}
