// Search runs in a worker, which browsers refuse to pages opened from a file: there it runs in a
// hidden frame of the same page instead. Nothing is loaded from elsewhere.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write(
        "<!doctype html><html lang='en'><script>" +
          "self.postMessage = data => parent.dispatchEvent(new MessageEvent('worker', {data}));" +
          "self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>" +
          " new Promise(done => { const tag = document.createElement('script'); tag.src = url;" +
          " tag.onload = done; document.head.appendChild(tag); })), Promise.resolve());" +
          "</script><script src='" + url + "'></script></html>"
      );
      inside.document.close();
      this.ready = new Promise(done => this.frame.addEventListener("load", done, { once: true }));
      window.addEventListener("worker", event => {
        const message = new MessageEvent("message", { data: structuredClone(event.data) });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
    }
    postMessage(data) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
    terminate() { this.frame.remove(); }
  };
}
