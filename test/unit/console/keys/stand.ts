/**
 * Two tenants with their keys, and a browser without scripts: it keeps its cookie, follows links and fills in forms.
 */
import type { FastifyInstance } from 'fastify';
import type { Resource } from '#crds/types.gen.ts';
import type { ConsoleAccess } from '../../../../console/access/access.ts';
import { keysOfList } from '../../../../console/access/key-access.ts';
import type { KeyDirectory } from '../../../../console/access/key-access.ts';
import { allOf, buildResources } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { condition, createConsoleFixture, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import type { ConsoleFixture, Rights } from '../../../support/console-access.ts';
import { bodyOf, csrfIn, FORM_HEADERS, HOST, signIn, stand } from '../stand.ts';
import type { Stand, StandOptions } from '../stand.ts';

export const GATEWAY = 'model-gateway';
const API = 'modelgateway.dev/v1alpha1';

export const ANNA: Rights = { name: 'anna@example.com', namespaces: ['team-a'] };
export const BEN: Rights = { name: 'ben@example.com', namespaces: ['team-b'] };
export const BOTH: Rights = { name: 'olga@example.com', namespaces: ['team-a', 'team-b'] };
export const READER: Rights = { name: 'rita@example.com', namespaces: ['team-a'], verbs: ['get', 'list'] };
export const ADMIN: Rights = { name: 'ada@example.com', namespaces: [GATEWAY] };
export const NOBODY: Rights = { name: 'nora@example.com', namespaces: [] };
export const BLIND: Rights = {
  name: 'bob@example.com',
  namespaces: ['team-a'],
  kinds: ['ApiKey'],
  readsSecrets: false,
};
const PEOPLE = [ANNA, BEN, BOTH, READER, ADMIN, NOBODY, BLIND];

function platform(kind: string, name: string, spec: object, labels?: object): unknown {
  return {
    apiVersion: API,
    kind,
    metadata: { namespace: GATEWAY, name, ...(labels === undefined ? {} : { labels }) },
    spec,
  };
}

const CHAT = { contextTokens: 200_000, maxOutputTokens: 64_000 };
const route = (name: string, models: readonly object[], protocol: string): unknown =>
  platform('ModelRoute', name, {
    models,
    channels: [
      {
        name: 'direct',
        protocol,
        baseUrl: protocol === 'OpenAI' ? 'https://provider.example/v1' : 'https://provider.example',
      },
    ],
  });

/** The platform team's objects: four groups, of which team-a can use three. */
export const PLATFORM: readonly unknown[] = [
  route(
    'anthropic',
    [
      { name: 'claude-sonnet-4-5', ...CHAT },
      { name: 'claude-haiku-4-5', ...CHAT },
      { name: 'claude-opus-4-1', ...CHAT },
    ],
    'Anthropic',
  ),
  route(
    'openai',
    [
      { name: 'gpt-5', ...CHAT },
      { name: 'gpt-5-mini', ...CHAT },
      {
        name: 'text-embedding-3-small',
        endpoints: ['Embeddings'],
        contextTokens: 8192,
      },
      { name: 'unpriced', ...CHAT },
    ],
    'OpenAI',
  ),
  platform('PriceCatalog', 'all', {
    models: [
      'claude-sonnet-4-5',
      'claude-haiku-4-5',
      'claude-opus-4-1',
      'gpt-5',
      'gpt-5-mini',
      'text-embedding-3-small',
    ].map((name) => ({ name, vendor: 'Vendor', quotaType: 'Token', modelRatio: '1.5', completionRatio: '5' })),
  }),
  platform('Group', 'auto-a', {
    displayName: 'Auto-A',
    priceRatio: '0.8',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeRef: { name: 'anthropic' } }, { routeRef: { name: 'openai' } }],
  }),
  platform('Group', 'economy', {
    priceRatio: '0.5',
    allowedNamespaces: { from: 'All' },
    routes: [{ routeRef: { name: 'openai' }, models: ['gpt-5-mini', 'text-embedding-3-small'] }],
  }),
  platform('Group', 'vip', {
    displayName: 'VIP',
    priceRatio: '1.5',
    allowedNamespaces: {
      from: 'Selector',
      selector: { matchLabels: { tier: 'gold' } },
    },
    routes: [{ routeRef: { name: 'anthropic' } }],
  }),
  platform('Group', 'internal', { allowedNamespaces: { from: 'Same' }, routes: [{ routeSelector: {} }] }),
];

const READY = condition('Ready', 'True', 'Ready', '');

/** The account of team-a. */
export const ACCOUNT: unknown = {
  apiVersion: API,
  kind: 'Account',
  metadata: { namespace: 'team-a', name: 'team-a' },
  spec: { grants: [{ name: '2026-11', usd: '250.00' }] },
  status: { balanceUsd: '182.4312' },
};

/** Tenants' objects, with every state of a key. */
export const TENANTS: readonly unknown[] = [
  ACCOUNT,
  { apiVersion: API, kind: 'Account', metadata: { namespace: 'team-b', name: 'team-b' }, spec: {} },
  keyManifest(
    'team-a',
    'ci-bot',
    {
      quota: { limitUsd: '25.00', period: 'Monthly' },
      expirationTime: '2027-01-01T00:00:00Z',
    },
    {
      keyHash: 'a'.repeat(64),
      keyPrefix: 'sk-4Tz9q',
      keyRotation: 1,
      spentUsd: '21.384512',
      totalSpentUsd: '148.2',
      remainingUsd: '3.615488',
      lastUsedTime: '2026-11-21T11:52:10Z',
      conditions: [READY],
    },
  ),
  keyManifest(
    'team-a',
    'chat-frontend',
    {
      quota: { limitUsd: '500' },
      maxConcurrency: 8,
      rateLimits: { requestsPerMinute: 600, inputTokensPerMinute: 1 },
      models: ['claude-sonnet-4-5', 'gpt-5'],
    },
    {
      keyHash: 'b'.repeat(64),
      keyPrefix: 'sk-b2Lw0',
      keyRotation: 2,
      spentUsd: '46.18',
      remainingUsd: '453.82',
      lastUsedTime: '2026-11-21T11:59:58Z',
      previousKeys: [{ keyHash: 'e'.repeat(64), expirationTime: '2026-11-22T09:00:00Z' }],
      conditions: [READY],
    },
  ),
  keyManifest(
    'team-a',
    'nightly-evals',
    { enabled: false, groupRef: { name: 'economy' } },
    {
      keyHash: 'c'.repeat(64),
      keyPrefix: 'sk-Xx81m',
      keyRotation: 1,
      spentUsd: '1204.5',
      lastUsedTime: '2026-10-30T02:14:00Z',
      conditions: [condition('Ready', 'False', 'Disabled', 'spec.enabled is false.')],
    },
  ),
  keyManifest(
    'team-a',
    'intern-2026',
    { groupRef: { name: 'retired' }, quota: { limitUsd: '5', period: 'Daily' } },
    {
      keyHash: 'd'.repeat(64),
      keyPrefix: 'sk-0aPq7',
      keyRotation: 1,
      spentUsd: '5',
      remainingUsd: '0',
      conditions: [condition('Ready', 'False', 'GroupNotFound', 'The Group "retired" does not exist.')],
    },
  ),
  keyManifest('team-a', 'new-service', {}),
  keyManifest(
    'team-b',
    'secret-project',
    { groupRef: { name: 'vip' }, quota: { limitUsd: '100' } },
    {
      keyHash: 'f'.repeat(64),
      keyPrefix: 'sk-Teamb',
      keyRotation: 1,
      spentUsd: '12',
      remainingUsd: '88',
      conditions: [READY],
    },
  ),
];

/** The operator's resources, from a fixture. */
export function resourcesOf(world: ConsoleFixture): Resources {
  return buildResources({
    objects: [...world.objects.values()].map((object): Resource => structuredClone(object)),
    secrets: [],
    namespaces: new Map([['team-b', { tier: 'gold' }]]),
  });
}

/** The keys of a world, for signing in with one. */
export function keysIn(world: ConsoleFixture): KeyDirectory {
  return keysOfList(() => allOf(resourcesOf(world).apiKeys));
}

interface KeysStand extends Stand {
  readonly world: ConsoleFixture;
  readonly access: ConsoleAccess;
  readonly app: FastifyInstance;
  readonly browser: (rights: Rights) => Promise<Browser>;
}

/** A console over this fixture, or over the two tenants'. */
export function keysStand({
  world = createConsoleFixture([...PLATFORM, ...TENANTS]),
  backend,
  ...options
}: StandOptions & { readonly world?: ConsoleFixture; readonly backend?: ConsoleAccess['backend'] } = {}): KeysStand {
  const access = world.access(PEOPLE, backend);
  const base = stand({
    access,
    resources: () => resourcesOf(world),
    gatewayUrl: 'https://models.example.com',
    ...options,
  });
  base.clock.nowMs = TEST_NOW_MS;
  return {
    ...base,
    world,
    access,
    browser: async (rights) => openBrowser(base.app, await signIn(base.app, rights.name)),
  };
}

export interface Shown {
  readonly status: number;
  readonly location: string;
  readonly markup: string;
}

export interface Browser {
  readonly get: (path: string) => Promise<Shown>;
  /** Returns the body, which must exist. */
  readonly head: (path: string) => Promise<string>;
  /** With the page's CSRF token. */
  readonly post: (path: string, fields: Readonly<Record<string, string | readonly string[]>>) => Promise<Shown>;
  /** Submits the form with this id on the last page, with these fields changed; null removes one. */
  readonly submit: (
    form: string,
    changes?: Readonly<Record<string, string | readonly string[] | null>>,
  ) => Promise<Shown>;
  /** Follows a redirect. */
  readonly follow: (shown: Shown) => Promise<Shown>;
}

export function openBrowser(app: FastifyInstance, session: string): Browser {
  let cookie = session;
  let last = '';
  let csrf = '';
  const keep = (answer: Awaited<ReturnType<FastifyInstance['inject']>>): Shown => {
    const shown = { status: answer.statusCode, location: answer.headers['location'] ?? '', markup: bodyOf(answer) };
    for (const { name, value } of answer.cookies)
      if (name.startsWith('mgw-console-last-key')) cookie = `${session}; ${name}=${encodeURIComponent(value)}`;
    if (shown.markup !== '') last = shown.markup;
    csrf = csrfIn(shown.markup) || csrf;
    return shown;
  };
  const browser: Browser = {
    head: async (path) => (await app.inject({ method: 'HEAD', url: path, headers: { host: HOST, cookie } })).body,
    get: async (path) => keep(await app.inject({ method: 'GET', url: path, headers: { host: HOST, cookie } })),
    async post(path, fields) {
      if (csrf === '') await browser.get('/keys');
      const payload = new URLSearchParams([
        ['csrf', csrf],
        ...Object.entries(fields).flatMap(([name, value]) =>
          [value].flat().map((each) => [name, each] as [string, string]),
        ),
      ]);
      return keep(
        await app.inject({
          method: 'POST',
          url: path,
          headers: { ...FORM_HEADERS, cookie },
          payload: payload.toString(),
        }),
      );
    },
    async submit(form, changes = {}) {
      const { action, fields } = readForm(last, form);
      for (const [name, value] of Object.entries(changes)) {
        fields.delete(name);
        for (const each of value === null ? [] : [value].flat()) fields.append(name, each);
      }
      return keep(
        await app.inject({
          method: 'POST',
          url: action,
          headers: { ...FORM_HEADERS, cookie },
          payload: fields.toString(),
        }),
      );
    },
    follow: (shown) => browser.get(shown.location),
  };
  return browser;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

function unescape(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}

/** Returns the fields that a browser would send for a form. */
function readForm(markup: string, id: string): { readonly action: string; readonly fields: URLSearchParams } {
  const [, head = '', body = ''] = new RegExp(`<form([^>]*id="${id}"[^>]*)>([\\s\\S]*?)</form>`).exec(markup) ?? [];
  if (head === '') throw new Error(`no form ${id}`);
  const fields = new URLSearchParams();
  for (const [tag] of body.matchAll(/<input[^>]*>|<select[\s\S]*?<\/select>|<textarea[\s\S]*?<\/textarea>/g)) {
    const opening = tag.slice(0, tag.indexOf('>'));
    const name = attribute(opening, 'name');
    if (name === undefined) continue;
    if (tag.startsWith('<select')) fields.append(name, chosenOf(tag));
    else if (tag.startsWith('<textarea'))
      fields.append(name, unescape(tag.slice(tag.indexOf('>') + 1, -'</textarea>'.length).replace(/^\n/, '')));
    else if (!/type="(?:checkbox|radio)"/.test(opening) || / checked/.test(opening))
      fields.append(name, attribute(opening, 'value') ?? 'on');
  }
  return { action: attribute(head, 'action') ?? '', fields };
}

function chosenOf(select: string): string {
  const options = [...select.matchAll(/<option([^>]*)>([^<]*)<\/option>/g)];
  const [, head = '', label = ''] = options.find(([, each = '']) => / selected/.test(each)) ?? options[0] ?? [];
  return attribute(head, 'value') ?? unescape(label);
}

function attribute(tag: string, name: string): string | undefined {
  const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(tag) ?? [];
  return value === undefined ? undefined : unescape(value);
}
