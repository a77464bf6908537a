/** GET /v1/realtime without a WebSocket, which upgrade.ts serves. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.ts';
import { PATHS } from '../paths.ts';

/** What RFC 9110 requires of a refusal with this status. */
const HEADERS = { upgrade: 'websocket', connection: 'upgrade, close' };

export function realtime(app: FastifyInstance): void {
  app.get(PATHS.realtime.path, { config: { endpoint: 'realtime' } }, () => {
    const message = 'Sessions are open over a WebSocket: connect to /v1/realtime?model=… with one.';
    throw new GatewayError('upgrade_required', message, { headers: HEADERS });
  });
}
