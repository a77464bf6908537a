/** Requests and what their routes declare: which values handlers get, and what is refused. */
import assert from 'node:assert/strict';
import { Type } from 'typebox';
import { describe, it } from 'vitest';
import { html } from '#web/html.ts';
import { OBJECT, queryText } from '../../../console/request-schema.ts';
import { route } from '../../../console/route.ts';
import { ALICE, HOST, signIn, stand } from './stand.ts';

describe('a request', () => {
  const fitting = (seen: unknown[]) => [
    route({
      method: 'GET',
      path: '/fits/:namespace/:name',
      params: OBJECT,
      query: Type.Object({ q: queryText(5), page: queryText() }),
      handle({ params, query }) {
        seen.push({ ...params, ...query });
        return { fragment: html`<p>fits</p>` };
      },
    }),
    route({
      method: 'GET',
      path: '/nothing-declared',
      handle({ params, query, form }) {
        seen.push({ params, query, form });
        return { fragment: html`<p>fits</p>` };
      },
    }),
  ];

  it('reaches its handler with the values that the route declares', async () => {
    const seen: unknown[] = [];
    const { app } = stand({ routes: fitting(seen) });
    const headers = { host: HOST, cookie: await signIn(app, ALICE) };
    await app.inject({ url: '/fits/team-a/ci.bot?q=%C3%A9&page=1&page=2&from=mail', headers });
    await app.inject({ url: '/nothing-declared?q=1', headers });
    assert.deepEqual(seen, [
      { namespace: 'team-a', name: 'ci.bot', q: 'é', page: '2', from: 'mail' },
      { params: {}, query: {}, form: {} },
    ]);
  });

  it('that does not fit gets a page that says what is wrong', async () => {
    const seen: unknown[] = [];
    const { app } = stand({ routes: fitting(seen) });
    const headers = { host: HOST, cookie: await signIn(app, ALICE) };
    for (const [url, status, message] of [
      ['/fits/team-a/ci?q=123456', 400, /Its parameter “q” must NOT have more than 5 characters\./],
      ['/fits/team-a/CI', 404, /No object can have this name/],
      ['/fits/team-a/-', 404, /No object can have this name/],
      [`/fits/${'n'.repeat(254)}/ci`, 404, /No object can have this name/],
    ] as const) {
      const { statusCode, body } = await app.inject({ url, headers });
      assert.equal(statusCode, status, url);
      assert.match(body, message);
      assert.match(body, /alice/, 'with the navigation of the person');
    }
    assert.deepEqual(seen, []);
    const signedOut = await app.inject({ url: '/fits/team-a/CI?q=123456', headers: { host: HOST } });
    assert.equal(signedOut.statusCode, 303, 'asks to sign in first');
  });
});
