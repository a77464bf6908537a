/** Callers are told to go, and none of them is turned away who was there before the doors were closed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { createDeparture } from '../../../dataplane/server/departure.ts';

it('closes connections with their answers, and knows those that came too late', async () => {
  const departure = createDeparture();
  const server = createServer((asked, answer) => { answer.end(String(departure.isLate(asked.socket))); });
  departure.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const ask = (agent: Agent | undefined): Promise<string> => new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, agent }, (answer) => {
      let late = '';
      answer.setEncoding('utf8').on('data', (text: string) => { late += text; }).once('end', () => resolve(`${answer.headers.connection} ${late}`));
    }).once('error', reject).end();
  });
  const [first, second, third] = agents;
  assert.equal(await ask(first), 'keep-alive false');
  assert.equal(await ask(second), 'keep-alive false');
  assert.equal(departure.announced, false);
  departure.announce();
  assert.equal(departure.announced, true);
  assert.equal(await ask(first), 'close false');
  assert.equal(await ask(first), 'close false', 'a new connection is not late yet');
  departure.closeDoors();
  assert.equal(await ask(second), 'close false', 'a connection from before is never late');
  assert.equal(await ask(third), 'close true');
  for (const agent of agents) agent.destroy();
  server.close();
  await once(server, 'close');
});
