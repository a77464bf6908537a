/**
 * The session's cookies. SameSite=Strict: no request that another site causes carries them, links included, so that not even the
 * time that a page takes can be watched from elsewhere; whoever follows a link from a chat is shown a page that leads on with one
 * click. Over https the name has the prefix `__Host-`, so that no other host of the domain can set it; plain http is for this
 * machine alone. A browser keeps 4 KiB per cookie, so a long token is split in two.
 */

export interface CookiePlace {
  /** False: http to this machine. */
  readonly secure: boolean;
  /** Of the Host header, where it names one: several consoles on one machine share its cookies. */
  readonly port: string;
}

/** What a cookie may hold, its name and attributes counted out. */
const PART_CHARACTERS = 3_700;
const PARTS = 2;
/** Of a sealed session. Common proxies refuse a Cookie header of more than 8 KiB. */
export const MOST_SEALED_CHARACTERS = PART_CHARACTERS * PARTS;

/** Set-Cookie headers that make the browser keep this text, which has at most MOST_SEALED_CHARACTERS. */
export function keepCookies(sealed: string, place: CookiePlace, seconds: number): string[] {
  const parts = Array.from({ length: PARTS }, (_, index) => sealed.slice(index * PART_CHARACTERS, (index + 1) * PART_CHARACTERS));
  return parts.map((part, index) => setCookie(nameOf(place, index), part, { secure: place.secure, seconds: part === '' ? 0 : seconds }));
}

/** Set-Cookie headers that make the browser forget it. */
export function dropCookies(place: CookiePlace): string[] {
  return keepCookies('', place, 0);
}

/** The text that the browser kept, from its Cookie header. A name that is there twice counts for nothing: one of them is foreign. */
export function readCookies(header: string | undefined, place: CookiePlace): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  let sealed = '';
  for (let index = 0; index < PARTS; index++) {
    const beginning = `${nameOf(place, index)}=`;
    const [found, second] = pairs.filter((pair) => pair.startsWith(beginning));
    if (second !== undefined) return undefined;
    if (found === undefined) break;
    sealed += found.slice(beginning.length);
  }
  return sealed === '' ? undefined : sealed;
}

function nameOf({ secure, port }: CookiePlace, index: number): string {
  const name = secure ? '__Host-mgw-console' : `mgw-console${port === '' ? '' : `-${port}`}`;
  return index === 0 ? name : `${name}.${index + 1}`;
}

function setCookie(name: string, value: string, { secure, seconds }: { secure: boolean; seconds: number }): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
