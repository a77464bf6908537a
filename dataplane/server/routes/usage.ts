/** GET /v1/usage/{request id}: what a call of this key cost. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { usageView } from '../views/usage.ts';

export function usage(app: FastifyInstance, { ledger, state }: ServerDeps): void {
  app.get<{ Params: { readonly id: string } }>(PATHS.usage.path, { config: { endpoint: 'usage' } }, async (request) => {
    const { key } = callerOf(request);
    const record = await ledger.readUsage(key.uid, request.params.id);
    if (!record)
      throw new GatewayError(
        'not_found',
        'This key made no billed call with that request id, or its record is no longer kept.',
      );
    return usageView(record, key.group, state.get().groups);
  });
}
