/** [P] The page and the data at `/`: base URLs for both SDKs, prices and console, for people and programs. */
import { html, NOTHING } from './html.ts';
import type { Html } from './html.ts';

interface HomeFacts {
  /** The origin that the client called; undefined if unknown. */
  readonly origin: string | undefined;
  readonly consoleUrl: string | undefined;
}

interface HomeSite {
  readonly title: string;
  /** Relative to the gateway's root. */
  readonly styleHref: string;
  readonly scriptHref: string;
  readonly iconHref: string;
}

interface HomeJson {
  readonly object: 'gateway';
  readonly name: string;
  readonly base_urls: { readonly openai: string; readonly anthropic: string };
  readonly models: string;
  readonly pricing: string;
  readonly console: string | null;
}

/** URLs are relative if the called origin is unknown. */
export function homeJson({ origin = '', consoleUrl }: HomeFacts, title: string): HomeJson {
  return {
    object: 'gateway',
    name: title,
    base_urls: { openai: `${origin}/v1`, anthropic: origin === '' ? '/' : origin },
    models: `${origin}/v1/models`,
    pricing: `${origin}/pricing.json`,
    console: consoleUrl ?? null,
  };
}

export function renderHome({ origin, consoleUrl }: HomeFacts, site: HomeSite): string {
  const base = origin ?? 'https://gateway.example';
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${site.title}</title>
        <link rel="icon" href="${site.iconHref}" type="image/svg+xml" />
        <link rel="stylesheet" href="${site.styleHref}" />
        <script src="${site.scriptHref}" defer></script>
      </head>
      <body class="public">
        <header>
          <h1>${site.title}</h1>
          <p class="lede">
            A gateway for model APIs. With a key of this gateway, which starts with <code>sk-</code>, the official SDKs
            of OpenAI and Anthropic call all of its models.
          </p>
        </header>
        <main class="prices">
          <dl class="facts home-facts">
            ${renderAddress('openai', 'Base URL for OpenAI’s SDK', `${base}/v1`)}
            ${renderAddress('anthropic', 'Base URL for Anthropic’s SDK', base)}
            <dt>Models and prices</dt>
            <dd><a href="pricing">Pricing</a></dd>
            ${
              consoleUrl === undefined
                ? NOTHING
                : html`<dt>Your keys and credit</dt>
                    <dd><a href="${consoleUrl}">Console</a></dd>`
            }
          </dl>
        </main>
        <footer><p>Programs that call this address get the same as JSON.</p></footer>
      </body>
    </html>`.markup;
}

function renderAddress(id: string, label: string, address: string): Html {
  return html`<dt>${label}</dt>
    <dd>
      <code id="base-${id}">${address}</code>
      <button type="button" class="button small" data-copy="base-${id}" hidden>
        Copy<span class="vh"> ${label}</span>
      </button>
    </dd>`;
}
