// Drains the Envoy of the same pod, which would exit at once on SIGTERM. When the pod terminates, Envoy closes each
// connection after its current response, so that clients connect to another pod. Envoy's preStop hook sends a request
// to this server, which responds when no connection is left.
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

const ADMIN = 'http://127.0.0.1:9901';
const POLL_MS = 500;
/** New connections arrive until all clients know that the pod has left its Service. */
const GRACE_MS = Number(process.env.GRACE_MS ?? 5000);
/** The preStop hook may send its request late. */
const LINGER_MS = 2000;

async function ask(path, method = 'GET') {
  const response = await fetch(`${ADMIN}${path}`, { method }).catch(() => undefined);
  return response?.ok ? response.text() : undefined;
}

/** Whether clients have connections, not counting the admin port's. If Envoy is gone, there are none. */
async function isInUse() {
  const stats = await ask('/stats?format=json&filter=^http\\..*downstream_cx_active$');
  const active = stats === undefined ? [] : JSON.parse(stats).stats;
  return active.some(({ name, value }) => !name.startsWith('http.admin.') && value > 0);
}

const ended = new Promise((resolve) => process.once('SIGTERM', resolve));
const drained = ended.then(async () => {
  while ((await ask('/drain_listeners?graceful&skip_exit', 'POST')) === undefined) await setTimeout(POLL_MS);
  await setTimeout(GRACE_MS);
  while (await isInUse()) await setTimeout(POLL_MS);
});
const server = createServer((_request, response) => void drained.then(() => response.end('drained\n')));
server.maxConnections = 8;
server.listen(Number(process.env.PORT ?? 9902));
await drained;
await setTimeout(LINGER_MS);
process.exit();
