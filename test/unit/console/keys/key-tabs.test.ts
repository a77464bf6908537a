/** The tabs of a key's page: their visibility and content. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { ANNA, keysStand, READER } from './stand.ts';

const KEY = '/keys/team-a/ci-bot';

describe("a key's page", () => {
  it('has four tabs and marks the open one, also for people who can only read', async () => {
    const { browser } = keysStand();
    for (const rights of [ANNA, READER]) {
      const person = await browser(rights);
      for (const [path, label] of [
        [KEY, 'Overview'],
        [`${KEY}/activity`, 'Activity'],
        [`${KEY}/settings`, 'Settings'],
        [`${KEY}/use`, 'Use it'],
      ] as const) {
        const { status, markup } = await person.get(path);
        assert.equal(status, 200, path);
        const tabs = markup.slice(markup.indexOf('<nav class="tabs"'));
        const links = [...tabs.slice(0, tabs.indexOf('</nav>')).matchAll(/<a href="([^"]*)"([^>]*)>([^<]*)</g)];
        assert.deepEqual(
          links.map(([, href]) => href),
          [KEY, `${KEY}/activity`, `${KEY}/settings`, `${KEY}/use`],
        );
        assert.deepEqual(
          links.filter(([, , current]) => current?.includes('aria-current')).map(([, , , name]) => name),
          [label],
        );
      }
    }
  });
  it('shows on Overview how many calls may run, and what they may use per minute', async () => {
    const { browser } = keysStand();
    const reader = await browser(READER);
    const limited = (await reader.get('/keys/team-a/chat-frontend')).markup;
    assert.match(
      limited,
      /<dt>Concurrent calls<\/dt><dd>8<\/dd><dt>Requests per minute<\/dt><dd>600<\/dd><dt>Input tokens per minute<\/dt><dd>1<\/dd>/,
    );
    assert.match((await reader.get(KEY)).markup, /<dt>Requests per minute<\/dt><dd>Any number<\/dd>/);
  });
  it('shows on Activity that the ledger is not known', async () => {
    const { browser } = keysStand();
    assert.match((await (await browser(ANNA)).get(`${KEY}/activity`)).markup, /has not been told where the ledger is/);
  });
});

describe('Use it', () => {
  it('shows base URLs and examples for each kind of client, with the key from the environment', async () => {
    const { browser } = keysStand();
    const { markup } = await (await browser(ANNA)).get(`${KEY}/use`);
    for (const words of [
      '<code id="url-openai">https://models.example.com/v1</code>',
      '<code id="url-anthropic">https://models.example.com</code>',
      'Authorization: Bearer $MGW_KEY',
      'os.environ[&quot;MGW_KEY&quot;]',
      'process.env.MGW_KEY',
      'claude --model &#39;claude-haiku-4-5&#39;',
      'env_key = &quot;MGW_KEY&quot;',
      'Override OpenAI Base URL',
    ])
      assert.ok(markup.includes(words), words);
    // a random token of a form may hold "sk-" too
    assert.doesNotMatch(markup.replaceAll(/name="csrf" value="[^"]*"/g, ''), /sk-[A-Za-z0-9]{6}/);
  });
  it('offers the models of the key, chat first, and the endpoint of the chosen one', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    const { markup } = await anna.get(`${KEY}/use`);
    assert.deepEqual(
      [...markup.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name),
      ['claude-haiku-4-5', 'claude-opus-4-1', 'claude-sonnet-4-5', 'gpt-5', 'gpt-5-mini', 'text-embedding-3-small'],
    );
    const embedding = await anna.get(`${KEY}/use?model=text-embedding-3-small`);
    assert.match(embedding.markup, /<option value="text-embedding-3-small" selected>/);
    assert.match(embedding.markup, /models\.example\.com\/v1\/embeddings/);
    assert.doesNotMatch(embedding.markup, /chat\/completions|Claude Code/);
    assert.match((await anna.get(`${KEY}/use?model=of-nobody`)).markup, /model=&quot;claude-haiku-4-5&quot;/);
    const narrowed = await anna.get('/keys/team-a/chat-frontend/use');
    assert.deepEqual(
      [...narrowed.markup.matchAll(/<option value="([^"]*)"/g)].map(([, name]) => name),
      ['claude-sonnet-4-5', 'gpt-5'],
    );
  });
  it('reports a key without models, and an unknown address', async () => {
    const { browser } = keysStand({ gatewayUrl: undefined });
    const { markup } = await (await browser(ANNA)).get('/keys/team-a/intern-2026/use');
    assert.match(markup, /This key can call no model at the moment/);
    assert.match(markup, /id="placeholders"><code>https:\/\/gateway\.example<\/code> stands for/);
  });
});
