/**
 * Markup without its layout, so that expectations state text and structure: one space at most where whitespace shows
 * (between words and inline elements), none elsewhere, and `<input …>` for `<input … />`.
 */

/** Whitespace beside these elements shows as a space. */
const INLINE =
  /^(a|abbr|b|bdi|button|code|data|em|i|img|input|label|output|q|select|small|span|strong|svg|textarea|time)$/;
/** Whitespace at the ends of their content does not show. */
const BOXES = /^(button|label|select|svg)$/;
const TOKENS = /<(?:pre|textarea)\b[^]*?<\/(?:pre|textarea)\s*>|<[^>]*>|[^<]+/g;

export function pageMarkup(markup: string): string {
  const tokens = [...markup.matchAll(TOKENS)].map(([token]) => (token.startsWith('<') ? withoutSpaces(token) : token));
  return tokens
    .map((token, index) => {
      if (token.startsWith('<')) return token;
      const text = token.replace(/\s+/g, ' ');
      const before = index > 0 && showsSpace(tokens[index - 1] ?? '', 'after') ? text : text.trimStart();
      return index < tokens.length - 1 && showsSpace(tokens[index + 1] ?? '', 'before') ? before : before.trimEnd();
    })
    .join('');
}

/** A tag with single spaces between its attributes; what follows it in `<pre>` and `<textarea>` is kept. */
function withoutSpaces(token: string): string {
  return token
    .replace(/^<[^>]*>/, (tag) =>
      tag.replace(/("[^"]*")|\s+/g, (_, value?: string) => value ?? ' ').replace(/ ?\/?>$/, '>'),
    )
    .replace(/\s+>$/, '>');
}

function showsSpace(tag: string, side: 'before' | 'after'): boolean {
  const [, slash = '', name = ''] = /^<(\/?)([\w-]+)/.exec(tag) ?? [];
  if (!INLINE.test(name)) return false;
  return !BOXES.test(name) || (slash === '') === (side === 'before');
}
