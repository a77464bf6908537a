/** A field of ApiKey touches one file of the console: an invented row of its table of fields is on all pages of a key. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { beforeAll, describe, it } from 'vitest';
import type { ANNA as Anna, keysStand as Stand } from './stand.ts';

/** As CONTRIBUTING.md shows it, for a field that the API has and no form asks for. */
const ROW = `
  minOutputTokens: countField('minOutputTokens', {
    label: 'Shortest response',
    path: 'spec.quota.minOutputTokens',
    most: 1_000_000,
    hint: 'In tokens.',
    of: (spec) => spec.quota.minOutputTokens,
    patch: (minOutputTokens) => ({ quota: { minOutputTokens } }),
  }),`;
const TABLE = 'export const KEY_FIELDS = {';

let keysStand: typeof Stand;
let ANNA: typeof Anna;

beforeAll(async () => {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith('/console/keys/fields.ts')) return loaded;
      const source =
        typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? undefined);
      assert.ok(source.includes(TABLE));
      return { ...loaded, source: source.replace(TABLE, TABLE + ROW) };
    },
  });
  ({ keysStand, ANNA } = await import('./stand.ts'));
});

describe('a new row of the table of fields', () => {
  const ask = async () => {
    const { browser, world } = keysStand();
    return { anna: await browser(ANNA), world };
  };
  const CONTROL = /<label for="f-minOutputTokens">Shortest response<\/label>/;
  const quotaOf = ({ world }: Awaited<ReturnType<typeof ask>>, name: string) => world.apiKey('team-a', name).spec.quota;

  it('is in the form of a new key, and in the key that it makes', async () => {
    const asked = await ask();
    assert.match((await asked.anna.get('/keys/new')).markup, CONTROL);
    const made = await asked.anna.submit('key-form', {
      name: 'fresh',
      account: 'team-a',
      group: 'auto-a',
      minOutputTokens: '32',
    });
    assert.equal(made.status, 303);
    assert.equal(quotaOf(asked, 'fresh').minOutputTokens, 32);
  });
  it('is in the form of an edit, whose patch changes it and nothing else', async () => {
    const asked = await ask();
    const before = quotaOf(asked, 'ci-bot');
    const { markup } = await asked.anna.get('/keys/team-a/ci-bot/settings');
    assert.match(markup, CONTROL);
    assert.match(markup, /id="f-minOutputTokens" name="minOutputTokens" value="16"/);
    assert.equal((await asked.anna.submit('key-form', { minOutputTokens: '48' })).status, 303);
    assert.deepEqual(quotaOf(asked, 'ci-bot'), { ...before, minOutputTokens: 48 });
  });
  it("is in the key's details", async () => {
    const { anna } = await ask();
    assert.match((await anna.get('/keys/team-a/ci-bot')).markup, /<dt>Shortest response<\/dt> *<dd>16<\/dd>/);
  });
  it('has its label in errors, both its own and those of the API', async () => {
    const asked = await ask();
    for (const [typed, message] of [
      ['many', 'Type a whole number'],
      ['0', '[^<]+'],
    ]) {
      await asked.anna.get('/keys/team-a/ci-bot/settings');
      const refused = await asked.anna.submit('key-form', { minOutputTokens: typed ?? '' });
      assert.equal(refused.status, 422);
      assert.match(
        refused.markup,
        new RegExp(`<a href="#f-minOutputTokens">Shortest response: ${message}[\\s\\S]*id="f-minOutputTokens-fault"`),
      );
    }
    assert.equal(quotaOf(asked, 'ci-bot').minOutputTokens, 16);
  });
  it('is compared with a concurrent edit', async () => {
    const { anna, world } = await ask();
    await anna.get('/keys/team-a/ci-bot/settings');
    world.edit('ApiKey', { namespace: 'team-a', name: 'ci-bot' }, (spec) => ({
      ...spec,
      quota: { ...spec.quota, minOutputTokens: 20 },
    }));
    const conflict = await anna.submit('key-form', { limitUsd: '30' });
    assert.equal(conflict.status, 409);
    assert.match(conflict.markup, /data-field="minOutputTokens">[\s\S]*?Shortest response[\s\S]*?16[\s\S]*?20/);
  });
});
