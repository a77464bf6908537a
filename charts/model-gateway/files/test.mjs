// `helm test` runs this: it checks that SDKs can call and that every proxy is configured, and exits with 1 if not.
import { lookup } from 'node:dns/promises';
import { setTimeout } from 'node:timers/promises';

const { FRONT, FLEET, ADMIN_PORT, KEY, MODEL } = process.env;
/** A new installation may need a moment, for example until network policies apply to this pod. */
const TIMEOUT_MS = Number(process.env.TIMEOUT_MS ?? 20_000);
let failed = 0;

async function check(name, run) {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      process.stdout.write(`ok    ${name}: ${await run()}\n`);
      return;
    } catch (error) {
      if (Date.now() < deadline) {
        await setTimeout(1000);
        continue;
      }
      failed += 1;
      process.stdout.write(`FAIL  ${name}: ${error.cause?.message ?? error.message}\n`);
      return;
    }
  }
}

async function get(url, status, options = {}) {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000), ...options });
  const text = await response.text();
  if (response.status === status) return text;
  throw new Error(`${url} responds with ${response.status} instead of ${status}: ${text.slice(0, 200)}`);
}

async function getJson(path, options) {
  return JSON.parse(await get(`${FRONT}${path}`, 200, options));
}

await check('every proxy is ready', async () => {
  // The lookup fails if no proxy is ready.
  const proxies = await lookup(FLEET, { all: true });
  await Promise.all(
    proxies.map(({ address, family }) =>
      get(`http://${family === 6 ? `[${address}]` : address}:${ADMIN_PORT}/readyz`, 200),
    ),
  );
  return `${proxies.length} of ${proxies.length}`;
});
await check('prices', async () => `${(await getJson('/pricing.json')).data.length} models`);
await check('a call without a key is refused', async () => {
  await get(`${FRONT}/v1/models`, 401);
  return '401';
});
if (KEY) {
  const headers = { authorization: `Bearer ${KEY}` };
  await check('models of the key', async () => {
    const { data } = await getJson('/v1/models', { headers });
    return data.map(({ id }) => id).join(', ') || 'none';
  });
  await check('remaining money of the key', async () => `${(await getJson('/v1/key', { headers })).remaining_usd} USD`);
  await check('a call with the key', async () => {
    const model = MODEL || (await getJson('/v1/models', { headers })).data[0]?.id;
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const { usage } = await getJson('/v1/chat/completions', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 16, messages }),
    });
    return `${model}, ${usage.completion_tokens} tokens`;
  });
}
process.exitCode = failed === 0 ? 0 : 1;
