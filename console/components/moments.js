/**
 * Shows times in the reader's time zone; the server writes them in UTC. Times that are added to the page later are
 * converted before they are painted.
 */
const OPTIONS = {
  second: { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  minute: { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
  day: { year: 'numeric', month: '2-digit', day: '2-digit' },
};
// Swedish writes dates as ISO 8601 does: the year first, the hours from 0 to 23.
const formats = Object.fromEntries(
  Object.entries(OPTIONS).map(([unit, options]) => [unit, new Intl.DateTimeFormat('sv-SE', options)]),
);
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

function write(element) {
  const format = formats[element.dataset.unit];
  const moment = new Date(element.dateTime);
  if (!format || Number.isNaN(moment.getTime())) return;
  const text = format.format(moment);
  element.title = `${element.dateTime.replace('T', ' ').replace('Z', ' UTC')} (shown: ${zone})`;
  if (element.textContent !== text) element.textContent = text;
}

function writeAll(root) {
  if (root.matches?.('time[data-unit]')) write(root);
  for (const element of root.querySelectorAll('time[data-unit]')) write(element);
}

writeAll(document.body);
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) for (const node of addedNodes) if (node instanceof Element) writeAll(node);
}).observe(document.body, { childList: true, subtree: true });
