/** A gateway that is killed within a session: the hold is settled at what the session has cost. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { WebSocket } from 'ws';
import { createHome, eventually } from '../../support/api/process.ts';
import type { GatewayHome, GatewayProcess } from '../../support/api/process.ts';
import type { Json } from '../../support/api/test-stack.ts';
import { KEYS, keysManifest, platformManifest } from '../../support/manifests.ts';
import { startRealtimeProvider, usage } from '../../support/realtime-provider.ts';
import type { RealtimeProvider } from '../../support/realtime-provider.ts';
import { realtimeManifests } from './realtime-stack.ts';

let home: GatewayHome;
let provider: RealtimeProvider;
beforeAll(async () => {
  provider = await startRealtimeProvider();
  home = await createHome({
    'keys.yaml': keysManifest(),
    'platform.yaml': platformManifest({ openaiUrl: provider.url, anthropicUrl: provider.url }),
    'realtime.yaml': realtimeManifests(provider.url),
  });
});
afterAll(async () => {
  await home.remove();
  await provider.stop();
});

interface Session {
  readonly socket: WebSocket;
  readonly id: string;
  next(type: string): Promise<unknown>;
}

async function connect({ url }: GatewayProcess): Promise<Session> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=talker`, {
    headers: { authorization: `Bearer ${KEYS.main}` },
  });
  let id = '';
  socket.on('error', () => undefined);
  socket.on('upgrade', (response) => {
    id = String(response.headers['x-request-id']);
  });
  const seen: string[] = [];
  socket.on('message', (data) => seen.push(JSON.parse((data as Buffer).toString('utf8')).type));
  const next = (type: string): Promise<unknown> => eventually(type, () => seen.includes(type));
  await next('session.created');
  return { socket, id, next };
}

describe('a gateway that is killed', () => {
  it('bills the responses that have ended exactly, and holds nothing any more', async () => {
    const first = await home.start();
    const session = await connect(first);
    const provided = await provider.session(0);
    provided.respond('r1', 'x', usage(100, 20));
    await session.next('response.done');
    provided.send({ type: 'response.created', event_id: 'e', response: { id: 'r2' } });
    await session.next('response.created');
    await first.kill();
    const second = await home.start();
    const record = await eventually('the record', async () => {
      const found = await read(second, `/v1/usage/${session.id}`);
      return found.status === 'Abandoned' && found;
    });
    // what the second one has read is estimated, which are no more than the thousand tokens of a template
    assert.ok(Number(record.cost_usd) >= 0.00072 && Number(record.cost_usd) < 0.005, record.cost_usd);
    assert.equal(record.output_tokens, 20);
    assert.equal((await read(second, '/v1/key')).held_usd, '0.00');
    await second.kill();
  });
});

async function read({ url }: GatewayProcess, path: string): Promise<Json> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${KEYS.main}` } });
  return response.json();
}
