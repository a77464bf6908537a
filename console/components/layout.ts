/**
 * [P] The layout of every page: a skip link, the title, the navigation, the signed-in person, and the page in <main>.
 */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { Page, NavigationItem } from '../route.ts';
import { FIND_PATH } from '../paths.ts';
import { MAX_ID_LENGTH } from '../request-schema.ts';
import { postForm } from './form.ts';

interface LayoutOptions {
  /** undefined: nobody is signed in. */
  readonly person: SignedIn | undefined;
  /** The stylesheets and scripts of all pages. */
  readonly files: { readonly styles: readonly string[]; readonly scripts: readonly string[] };
  /** An asset's address by its file's name. */
  readonly asset: (file: string) => string;
}

interface SignedIn {
  readonly name: string;
  readonly csrf: string;
  readonly signOut: SignOut;
  /** With an API key, which sees neither an overview nor accounts. */
  readonly byKey: boolean;
  /** May see the gateway's routes. */
  readonly platform: boolean;
}

/** ByProxy: an authenticating proxy holds the session, so the console cannot end it. */
type SignOut = 'Here' | 'ByProxy';

interface NavigationLink {
  readonly item: NavigationItem;
  readonly path: string;
  readonly label: string;
}

const NAVIGATION: readonly NavigationLink[] = [
  { item: 'overview', path: '/', label: 'Overview' },
  { item: 'keys', path: '/keys', label: 'API Keys' },
  { item: 'wallet', path: '/wallet', label: 'Wallet' },
  { item: 'usage', path: '/usage', label: 'Usage' },
  { item: 'models', path: '/models', label: 'Models' },
  { item: 'playground', path: '/playground', label: 'Playground' },
];
/** For people who may see the gateway's routes. */
const PLATFORM: readonly NavigationLink[] = [
  { item: 'routes', path: '/routes', label: 'Routes' },
  { item: 'groups', path: '/groups', label: 'Groups' },
  { item: 'catalogs', path: '/catalogs', label: 'Price catalogs' },
];
const NOT_BY_KEY: ReadonlySet<NavigationItem> = new Set(['overview', 'wallet']);

/** The whole document. */
export function layout({ title, active, body, scripts = [], styles = [] }: Page, options: LayoutOptions): string {
  const stylesheets = [...new Set([...options.files.styles, ...styles])].map(
    (file) => html`<link rel="stylesheet" href="${options.asset(file)}" />`,
  );
  const modules = [...new Set([...options.files.scripts, ...scripts])].map(
    (file) => html`<script type="module" src="${options.asset(file)}"></script>`,
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title} · Model Gateway</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="same-origin" />
        <link rel="icon" href="${options.asset('icon.svg')}" type="image/svg+xml" />
        ${stylesheets}${modules}
      </head>
      <body class="console">
        <a class="skip" href="#main">Skip to the page</a>
        ${header(active, options)}
        <main id="main" tabindex="-1">${body}</main>
        <footer class="site-foot"><p>Model Gateway</p></footer>
      </body>
    </html>`.markup;
}

function header(active: NavigationItem | undefined, { person }: LayoutOptions): Html {
  return html`<header class="site-head${person?.platform === true ? ' site-head-platform' : ''}">
    <p class="site-title"><a href="/">Model Gateway</a></p>
    ${person ? html`${navigation(active, person)} ${findForm(person)} ${personBox(person)}` : NOTHING}
  </header>`;
}

/** Posted, so that a key that somebody pastes does not appear in a URL. */
function findForm({ csrf }: SignedIn): Html {
  return postForm(
    { action: FIND_PATH, csrf, style: 'site-find', search: 'Everything' },
    html`<input
      id="find"
      type="search"
      name="q"
      maxlength="${MAX_ID_LENGTH}"
      aria-label="Find anything"
      aria-keyshortcuts="/"
      placeholder="Find: id, key, team… ( / )"
      spellcheck="false"
      autocapitalize="none"
      autocomplete="off"
    />`,
  );
}

function navigation(active: NavigationItem | undefined, { byKey, platform }: SignedIn): Html {
  const links = [...NAVIGATION.filter(({ item }) => !byKey || !NOT_BY_KEY.has(item)), ...(platform ? PLATFORM : [])];
  const items = links.map(
    ({ item, path, label }) =>
      html`<li><a href="${path}" ${item === active ? html`aria-current="page"` : NOTHING}>${label}</a></li>`,
  );
  return html`<nav class="site-nav" aria-label="Personal center">
    <ul>
      ${items}
    </ul>
  </nav>`;
}

function personBox({ name, csrf, signOut }: NonNullable<LayoutOptions['person']>): Html {
  const button = postForm({ action: '/sign-out', csrf, style: '' }, html`<button type="submit">Sign out</button>`);
  return html`<div class="site-person">
    <span class="person-name">${name}</span>${signOut === 'Here' ? button : NOTHING}
  </div>`;
}
