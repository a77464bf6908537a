/** GET /v1/key: the calling key's own limits and spending. */
import type { FastifyInstance } from 'fastify';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import type { PlainRoute } from '../plain.ts';
import { keyView } from '../views/key.ts';

export function key(app: FastifyInstance, deps: ServerDeps): void {
  app.get<PlainRoute>(PATHS.key.path, plain(deps, 'key', async (call) => {
    const [spending, account] = await Promise.all([
      deps.ledger.readKey(call.key.uid, call.key.period, call.key.account),
      deps.ledger.readAccount(call.key.account),
    ]);
    const state = deps.state.get();
    return keyView({ key: call.key, state, spending, account, notAfterMs: deps.state.credential(call.keyHash)?.notAfterMs });
  }));
}
