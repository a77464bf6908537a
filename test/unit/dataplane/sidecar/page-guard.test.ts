/** A web page on the same machine cannot call the gateway with the pod's key. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startTestSidecar } from './support.ts';
import type { TestSidecar } from './support.ts';

let calls = 0;
const fleet = createServer((_request, response) => {
  calls += 1;
  response.end('{}');
});
let sidecar: TestSidecar;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    fleet.listen(0, '127.0.0.1', resolve);
  });
  const address = fleet.address() as AddressInfo;
  sidecar = await startTestSidecar(`http://127.0.0.1:${address.port}`, `sk-${'k'.repeat(48)}`);
});
afterAll(async () => {
  await sidecar.stop();
  fleet.close();
});

/** The status of a request with these headers. */
function send(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: sidecar.port, path: '/v1/models', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

describe('a request of a web page', () => {
  for (const [what, headers] of [
    ['by DNS rebinding', { host: 'evil.example' }],
    ['by DNS rebinding, with the right port', { host: 'evil.example:4000' }],
    ['of a host that only begins like loopback', { host: '127.0.0.1.evil.example' }],
    ['with its Origin', { origin: 'https://evil.example' }],
    ['of a file', { origin: 'null' }],
    ['as a cross-site request', { 'sec-fetch-site': 'cross-site' }],
    ['of another port', { 'sec-fetch-site': 'same-site' }],
  ] as const) {
    it(`with ${what} is refused, and not forwarded`, async () => {
      const before = calls;
      assert.equal(await send(headers), 400);
      assert.equal(calls, before);
    });
  }
});

describe('a request of a program of the pod', () => {
  for (const headers of [
    {},
    { host: 'localhost' },
    { host: 'LOCALHOST:4000' },
    { host: '[::1]:4000' },
    { 'sec-fetch-mode': 'cors' },
    { 'sec-fetch-site': 'none' },
  ]) {
    it(`with ${JSON.stringify(headers)} is served`, async () => {
      assert.equal(await send(headers), 200);
    });
  }
});
