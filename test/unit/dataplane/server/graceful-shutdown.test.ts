/** Clients leave a process that shuts down, and no connection that is older than the second step is refused. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, it } from 'vitest';
import { buildServer } from '../../../../dataplane/server/app.ts';
import type { ServerDeps } from '../../../../dataplane/server/deps.ts';
import { createGracefulShutdown } from '../../../../dataplane/server/graceful-shutdown.ts';
import { createInFlight } from '../../../../dataplane/server/in-flight.ts';

const shutdown = createGracefulShutdown();
/** Only the parts that a request to an unknown path needs. */
const deps = {
  shutdown,
  inFlight: createInFlight(),
  configured: () => true,
  clock: { nowMs: () => 1, monotonicMs: () => 1 },
  telemetry: { finished: () => undefined },
  maxBodyBytes: 1000,
  maxBufferedBytes: 1000,
  corsOrigins: [],
} as unknown as ServerDeps;
const server = buildServer(deps);
const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));

beforeAll(async () => {
  await server.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  for (const agent of agents) agent.destroy();
  await server.close();
});

/** The status of a response on this agent's connection, and whether the connection stays open. */
function ask(agent: Agent | undefined, path: string): Promise<string> {
  const { port } = server.server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent }, (answer) => {
      answer.resume().once('end', () => resolve(`${answer.statusCode} ${answer.headers.connection ?? 'open'}`));
    })
      .once('error', reject)
      .end();
  });
}

it('closes connections with their responses, and then refuses requests on new ones', async () => {
  const [first, second, third] = agents;
  assert.equal(await ask(first, '/nothing'), '404 open');
  assert.equal(await ask(second, '/nothing'), '404 open');
  assert.equal(shutdown.draining, false);
  shutdown.startDraining();
  assert.equal(shutdown.draining, true);
  assert.equal(await ask(first, '/nothing'), '404 close');
  assert.equal(await ask(first, '/nothing'), '404 close', 'a new connection is not refused yet');
  assert.equal(await ask(first, '/%'), '400 close', 'what fastify refuses itself closes its connection too');
  shutdown.refuseNewConnections();
  assert.equal(await ask(second, '/nothing'), '404 close', 'a connection from before is never refused');
  assert.equal(await ask(third, '/nothing'), '503 close');
});
