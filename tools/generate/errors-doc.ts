/** docs/errors.md, out of the data plane's error table. */
import { ERRORS, type ErrorRow } from '../../dataplane/errors.ts';

const HEAD = `# Errors

What a caller is told, in the dialect of the path: Anthropic's on \`/v1/messages*\`, OpenAI's everywhere else. Messages
say what is wrong and how to mend it. Every answer carries \`x-request-id\` and \`request-id\`, by which the gateway's
log is searched.

- OpenAI: \`{"error":{"message","type","param","code"}}\`
- Anthropic: \`{"type":"error","error":{"type","message"},"request_id"}\`

This page is generated from \`dataplane/errors.ts\`.
`;

/** The page, as it is kept in docs/. */
export function errorsText(): string {
  const rows: [string, ErrorRow][] = Object.entries(ERRORS);
  const table = rows.map(([name, row]) => `| \`${name}\` | ${row.status} | \`${row.openaiType}\` | ${row.openaiCode
    ? `\`${row.openaiCode}\``
    : ''} | \`${row.anthropicType}\` | ${retry(row)} | ${row.when} |`);
  return [HEAD, '| error | status | OpenAI type | OpenAI code | Anthropic type | SDKs retry | when ' +
    '|', '|---|---|---|---|---|---|---|', ...table, ''].join('\n');
}

function retry(row: ErrorRow): string {
  if (row.retry === undefined) return 'by their own rules';
  return row.retry ? 'yes, after `retry-after`' : 'no';
}
