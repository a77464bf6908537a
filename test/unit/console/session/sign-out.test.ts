/** Signing out: at one of several replicas, after a restart, and when it cannot be shared. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { describe, it } from 'vitest';
import { NOTHING } from '#web/html.ts';
import { AccessError } from '../../../../console/access/access.ts';
import { openFileState } from '../../../../console/access/files/file-state.ts';
import { localState } from '../../../../console/access/shared-state.ts';
import type { ConsoleRoute } from '../../../../console/route.ts';
import { postForm } from '../../../../console/components/form.ts';
import { temporaryFolder } from '../../operator/support.ts';
import { ALICE, BOB, FORM_HEADERS, HOST, csrfIn, signIn, stand } from '../stand.ts';

const routes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys', handle: ({ csrf }) => ({ fragment: postForm({ action: '/keys', csrf }, NOTHING) }) },
];

async function isOpen(app: FastifyInstance, cookie: string): Promise<boolean> {
  return (await app.inject({ url: '/keys', headers: { host: HOST, cookie } })).statusCode === 200;
}

/** The target of the redirect. */
async function signOut(app: FastifyInstance, cookie: string): Promise<unknown> {
  const { body } = await app.inject({ url: '/keys', headers: { host: HOST, cookie } });
  const answer = await app.inject({
    method: 'POST',
    url: '/sign-out',
    headers: { ...FORM_HEADERS, cookie },
    payload: new URLSearchParams({ csrf: csrfIn(body) }).toString(),
  });
  assert.match(String(answer.headers['set-cookie']), /mgw-console-8081=; Max-Age=0; Path=\//);
  return answer.headers.location;
}

describe('signing out', () => {
  it('ends copies of the cookie at every replica, and no other session', async () => {
    const shared = { state: localState(), sealingKeys: [randomBytes(32)], routes };
    const [one, two] = [stand(shared).app, stand(shared).app];
    const [copied, other, bob] = [await signIn(one, ALICE), await signIn(two, ALICE), await signIn(one, BOB)];
    assert.ok(await isOpen(two, copied));
    assert.equal(await signOut(one, copied), '/sign-in?why=out');
    for (const app of [one, two, stand(shared).app])
      assert.deepEqual(
        [await isOpen(app, copied), await isOpen(app, other), await isOpen(app, bob)],
        [false, true, true],
      );
  });

  it('survives a restart on one machine', async (t) => {
    const data = await temporaryFolder(t);
    const sealingKeys = [randomBytes(32)];
    const { app } = stand({ state: await openFileState(data), sealingKeys, routes });
    const [copied, other] = [await signIn(app, ALICE), await signIn(app, ALICE)];
    await signOut(app, copied);
    const again = stand({ state: await openFileState(data), sealingKeys, routes }).app;
    assert.deepEqual([await isOpen(again, copied), await isOpen(again, other)], [false, true]);
  });

  it('reports if it could not be shared with the others, and applies here', async () => {
    const state = { ...localState(), change: () => Promise.reject(new AccessError('Unavailable', 'away')) };
    const { app, logged } = stand({ state, routes });
    const cookie = await signIn(app, ALICE);
    assert.equal(await signOut(app, cookie), '/sign-in?why=out-here');
    assert.ok(!(await isOpen(app, cookie)));
    assert.match(
      (
        await app.inject({
          url: '/sign-in?why=out-here',
          headers: { host: HOST },
        })
      ).body,
      /signed out in this browser[^<]*may still open the console elsewhere/,
    );
    assert.deepEqual(
      logged.filter(({ level }) => level === 'warn').map(({ message }) => message),
      ['a sign-out of the console holds in this process only'],
    );
  });
});
