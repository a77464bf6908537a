/** GET /v1/usage/{request id}: what a call of this key cost. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import type { PlainRoute } from '../plain.ts';
import { usageView } from '../views/usage.ts';

export function usage(app: FastifyInstance, deps: ServerDeps): void {
  app.get<PlainRoute>(PATHS.usage.path, plain(deps, 'usage', async ({ key, request }) => {
    const { id = '' } = request.params;
    const record = await deps.ledger.readUsage(key.uid, id);
    if (!record) throw new GatewayError('not_found', 'This key made no billed call with that request id, or its record is no longer kept.');
    return usageView(record);
  }));
}
