/** Forms over the schemas: what they show and check, what they preview, what they save, and for whom. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { call, usageBook, walletStand } from '../wallet/stand.ts';

type Stand = ReturnType<typeof walletStand>;

function manifest(kind: string, name: string, spec: object): unknown {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { namespace: 'model-gateway', name }, spec };
}

const MANIFESTS = [
  manifest('ModelRoute', 'openai', {
    models: [
      { name: 'm', contextTokens: 1000, maxOutputTokens: 100 },
      { name: 'other', contextTokens: 2000, maxOutputTokens: 200 },
    ],
    channels: [
      { name: 'direct', protocol: 'OpenAI', baseUrl: 'https://openai.example/v1' },
      { name: 'spare', protocol: 'OpenAI', baseUrl: 'https://spare.example/v1', priority: 1 },
    ],
  }),
  manifest('PriceCatalog', 'all', {
    models: [{ name: 'm', vendor: 'V', quotaType: 'Token', usdPerMillion: { input: '2', output: '10' } }],
  }),
  manifest('Group', 'vip', {
    displayName: 'VIP',
    priceRatio: '1.5',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeSelector: {} }],
  }),
];

const TOKENS = { input: 1_000_000, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

function open(): Stand {
  return walletStand(usageBook([call('req_a', 'uid-ci', { model: 'm', group: 'vip', tokens: TOKENS })]), MANIFESTS);
}

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

/** What a browser would post of the form in a page. */
function formIn(body: string): Record<string, string> {
  const unescaped = (text: string): string =>
    text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
  const form = /<form\s+class="form"[\s\S]*?<\/form>/.exec(body)?.[0] ?? '';
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input\b[^>]*>/g)) {
    const name = / name="([^"]*)"/.exec(tag)?.[1];
    if (name === undefined || name === 'csrf' || (/type="checkbox"/.test(tag) && !/ checked/.test(tag))) continue;
    fields[unescaped(name)] = unescaped(/ value="([^"]*)"/.exec(tag)?.[1] ?? 'on');
  }
  for (const [, name = '', options = ''] of form.matchAll(/<select\b[^>]* name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g))
    fields[unescaped(name)] = unescaped(/<option value="([^"]*)"\s+selected/.exec(options)?.[1] ?? '');
  for (const [, name = '', text = ''] of form.matchAll(/<textarea\b[^>]* name="([^"]*)"[^>]*>([\s\S]*?)<\/textarea>/g))
    fields[unescaped(name)] = unescaped(text.replace(/^\n/, ''));
  return fields;
}

const PRICE = '/edit/price?object=all&entry=m';
const USD = 'spec.models[0].usdPerMillion';

async function edit(stand: Stand, path: string, changes: Record<string, string>, who = 'petra') {
  const fields = formIn((await stand.see(who, path)).body);
  return stand.post(who, path, { ...fields, do: 'preview', ...changes }, path);
}

describe('a form over a schema', () => {
  it('shows the fields in use with the descriptions of the schema, and the others in a fold', async () => {
    const { body, status } = await open().see('petra', PRICE);
    assert.equal(status, 200);
    assert.match(body, /name="spec\.models\[0\]\.vendor"\s+value="V"/);
    assert.equal(formIn(body)[USD], 'input=2\noutput=10');
    assert.match(body, /The vendor of the model, which the price page shows/);
    assert.match(body, /More settings[\s\S]*name="spec\.models\[0\]\.validFrom"/);
  });

  it('previews values, prices and money, saves nothing before that, and offers a patch', async () => {
    const stand = open();
    const { body, status } = await edit(stand, PRICE, { [USD]: 'input=3\noutput=10' });
    assert.equal(status, 200);
    const text = textOf(body);
    assert.match(text, /usdPerMillion\.input 2 3 /);
    assert.match(text, /VIP m \$3\.00 input, \$15\.00 output \$4\.50 input, \$15\.00 output/);
    assert.match(text, /By today.+ prices \$ ?3\.00 By the edited prices \$ ?4\.50/);
    assert.match(text, /- op: test path: \/spec\/models\/0\/name value: m - op: replace path: \/spec\/models\/0/);
    assert.match(text, /kubectl patch pricecatalogs\.modelgateway\.dev all --namespace model-gateway --type json/);
    assert.match(formIn((await stand.see('petra', PRICE)).body)[USD] ?? '', /^input=2\n/);
  });

  it('saves what was previewed', async () => {
    const stand = open();
    const saved = await edit(stand, PRICE, { [USD]: 'input=3\noutput=10', do: 'save' });
    assert.equal(saved.status, 303);
    const { body } = await stand.see('petra', `${PRICE}&done=saved`);
    assert.match(body, /Saved\. It is in force/);
    assert.equal(formIn(body)[USD], 'input=3\noutput=10');
  });

  it('shows every error beside its field, in its own words, and saves nothing', async () => {
    const stand = open();
    const changes = { [USD]: 'input=much', 'spec.models[0].vendor': '', do: 'save' };
    const { body, status } = await edit(stand, PRICE, changes);
    assert.equal(status, 422);
    assert.match(body, /href="#f-spec\.models\[0\]\.vendor">Vendor: /);
    assert.match(body, /id="f-spec\.models\[0\]\.usdPerMillion-fault"/);
    assert.equal(formIn(body)[USD], 'input=much');
    assert.equal(formIn((await stand.see('petra', PRICE)).body)[USD], 'input=2\noutput=10');
  });

  it('saves nothing over a change that somebody else has made meanwhile', async () => {
    const stand = open();
    const fields = formIn((await stand.see('petra', PRICE)).body);
    await edit(stand, PRICE, { [USD]: 'input=3\noutput=10', do: 'save' });
    const late = await stand.post('petra', PRICE, { ...fields, [USD]: 'input=4\noutput=10', do: 'save' }, PRICE);
    assert.equal(late.status, 409);
    assert.match(textOf(late.body), /Somebody else has changed it since you opened it/);
    assert.equal(formIn(late.body)[USD], 'input=4\noutput=10');
    assert.equal(formIn((await stand.see('petra', PRICE)).body)[USD], 'input=3\noutput=10');
  });

  it('adds entries to a list and removes them without a script, keeping what was typed', async () => {
    const stand = open();
    const added = await edit(stand, '/edit/group?object=vip', {
      do: '',
      add: 'spec.routes',
      'spec.displayName': 'Best',
    });
    assert.match(added.body, /name="spec\.routes\[1\]\.maxConcurrency"/);
    assert.equal(formIn(added.body)['spec.displayName'], 'Best');
    const fields = { ...formIn(added.body), 'spec.routes[1].routeRef.name': 'openai', remove: 'spec.routes[0]' };
    const removed = await stand.post('petra', '/edit/group?object=vip', fields, '/edit/group?object=vip');
    assert.match(removed.body, /name="spec\.routes\[0\]\.routeRef\.name"\s+value="openai"/);
    assert.doesNotMatch(removed.body, /spec\.routes\[1\]/);
  });

  it('keeps a selector of everything, which is an empty object', async () => {
    const stand = open();
    const { body } = await edit(stand, '/edit/group?object=vip', { 'spec.priceRatio': '2', do: 'preview' });
    assert.match(textOf(body), /priceRatio 1\.5 2 /);
    assert.doesNotMatch(textOf(body), /routeSelector (\{\}|—)/);
  });

  it('edits a channel and leaves the other fields of the route alone', async () => {
    const stand = open();
    const path = '/edit/channel?object=openai&entry=spare';
    const saved = await edit(stand, path, { 'spec.channels[1].maxConcurrency': '7', do: 'save' });
    assert.equal(saved.status, 303);
    const yaml = textOf((await stand.see('petra', '/routes/openai/yaml')).body);
    assert.match(yaml, /name: direct protocol: OpenAI/);
    assert.match(yaml, /maxConcurrency: 7/);
    assert.match(yaml, /- name: other/);
  });

  it('creates an object', async () => {
    const stand = open();
    const fields = {
      'metadata.name': 'basic',
      'spec.type': '',
      'spec.priceRatio': '1',
      'spec.routes[0].routeRef.name': 'openai',
    };
    const preview = await stand.post('petra', '/edit/group', { ...fields, do: 'preview' }, '/edit/group');
    assert.match(textOf(preview.body), /apiVersion: modelgateway\.dev\/v1alpha1 kind: Group metadata: name: basic/);
    const saved = await stand.post('petra', '/edit/group', { ...fields, do: 'save' }, '/edit/group');
    assert.equal(saved.status, 303);
    assert.equal((await stand.see('petra', '/edit/group?object=basic')).status, 200);
    const twice = await stand.post('petra', '/edit/group', { ...fields, do: 'save' }, '/edit/group');
    assert.equal(twice.status, 409);
    assert.match(twice.body, /href="#f-metadata\.name"/);
  });

  it('is for people who may read the object', async () => {
    const stand = open();
    for (const path of [PRICE, '/edit/route', '/edit/channel?object=openai&entry=direct'])
      assert.ok([403, 404].includes((await stand.see('alice', path)).status), path);
    assert.equal((await stand.see('petra', '/edit/price?object=all&entry=none')).status, 404);
    assert.equal((await stand.see('petra', '/edit/price')).status, 404);
  });
});

describe('adding a model', () => {
  const PATH = '/edit/new-model';
  const FIELDS = {
    name: 'gpt-new',
    'price.vendor': 'OpenAI',
    'price.quotaType': 'Token',
    'price.usdPerMillion': 'input=1\noutput=4',
    'model.contextTokens': '128000',
    'model.maxOutputTokens': '16000',
  };

  it('adds it to a route and its price to a catalog, after a preview with both patches', async () => {
    const stand = open();
    const preview = await edit(stand, PATH, FIELDS);
    assert.equal(preview.status, 200);
    const text = textOf(preview.body);
    assert.match(text, /VIP gpt-new Not offered \$1\.50 input, \$6\.00 output/);
    assert.match(text, /kubectl patch modelroutes[\s\S]*kubectl patch pricecatalogs/);
    const saved = await edit(stand, PATH, { ...FIELDS, do: 'save' });
    assert.equal(saved.status, 303);
    const page = await stand.see('petra', '/models/gpt-new');
    assert.match(page.body, /Edit its price in all[\s\S]*Edit it in openai/);
    assert.match((await stand.see('petra', '/models')).body, /href="\/edit\/new-model"/);
  });

  it('shows the errors of both at once, and refuses a name that is taken', async () => {
    const stand = open();
    const bad = await edit(stand, PATH, { ...FIELDS, 'price.vendor': '', 'model.contextTokens': 'many' });
    assert.equal(bad.status, 422);
    assert.match(bad.body, /href="#f-price\.vendor"/);
    assert.match(bad.body, /href="#f-model\.contextTokens"/);
    const taken = await edit(stand, PATH, { ...FIELDS, name: 'm' });
    assert.equal(taken.status, 422);
    assert.match(textOf(taken.body), /ModelRoute openai already has a model of this name/);
  });

  it('is offered to nobody who may not change routes and catalogs', async () => {
    const stand = open();
    assert.equal((await stand.see('alice', PATH)).status, 404);
    assert.doesNotMatch((await stand.see('alice', '/models')).body, /new-model/);
  });
});
